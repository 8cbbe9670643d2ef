// Random policies that the checks of a PUT accept, made from the schemas: every word of a choice, edges of ranges, and texts that
// break things. What a rule refuses is taken out again.
import { z } from 'zod';
import { checkSpec } from '../../src/validation/check-spec.ts';
import { specDefinitions } from '../../src/validation/schemas.ts';
import { typeOf } from '../../src/resource/type-registry.ts';
import type { Json, JsonObject } from '../../src/resource/types.ts';
import { fc } from '../support/property.ts';

/** Candidates for every text; a field takes those that its schema accepts. */
const TEXTS = [
  ...[
    '',
    ' ',
    'a',
    'a b',
    'A',
    'ü',
    '5xx',
    '\n',
    'a\nb',
    'a\0b',
    '\u{1F600}',
    'a\rb',
    '/a\nb',
    '"',
    "'",
    '\\',
    '%',
    '%%',
    '{',
    '}',
    'x'.repeat(300),
    'x'.repeat(1100),
    'x'.repeat(17_000),
  ],
  ...[
    '%REQ(:PATH)%',
    '%REQ(X)%',
    '%FOO%',
    '%START_TIME%',
    '%KUMA_MESH%',
    '%KUMA_FOO%',
    '%REQ(',
    '%RESPONSE_CODE%:%BYTES_SENT%',
    '100%',
    '%REQ(a/b)%',
    '%REQ("a")%',
    '%REQ(:)%',
    '%REQ(a:b)%',
    '%REQ(A?:PATH)%',
    '%RESP(ü)%',
    '%TRAILER(a@b)%',
    '%CEL(nope()%',
    '%CEL(nope())%',
    '%CEL(request.headers["a"] == "b")%',
    '%CEL(has(request.headers) && !(request.path.matches("^/[a-z]+")) ? size(request.path) : int("1"))%',
    `%CEL(a${'&&a[b.c]'.repeat(23)} in [1, "b"])%`,
    '%CEL(a.exists(x, x))%',
    '%START_TIME(%Y\n)%',
    '%START_TIME(%Y-%m-%dT%H:%M:%S)%',
  ],
  ...[
    'x-header',
    'X-Upper',
    ':path',
    ':method',
    ':authority',
    ':status',
    'host',
    'Host',
    'content-length',
    'set-cookie',
    'x_y',
    'grpc-status',
  ],
  ...['/', '/a', '/a/', '//', '/a b', '/*', '/a?b=c', '/a#b', '/ü', '/%zz', '/a/../b', '/dev/null', '/metrics'],
  ...[
    '.*',
    '(',
    '[a-z]+',
    '(?i)x',
    '\\d+',
    'a{1001}',
    'a{1000}',
    '(?<n>a)',
    '(?P<n>a)',
    '[[:alpha:]]',
    '\\pL',
    '\\p{Greek}',
    '(a*)*',
    '\\Qa\\E',
    '\\x{ff}',
    '\\x{100}',
    '[\\x{4e00}-\\x{9fff}]',
    '\\p{LC}',
    '\\p{Cn}',
    '[à-ÿ]{1000}',
    '(a{30}){30}',
  ],
  ...[
    '*',
    '*.com',
    'example.com',
    'Example.com',
    'a.b.c',
    '127.0.0.1',
    '::1',
    '10.0.0.0/8',
    '127.0.0.1:5000',
    'host:80',
    '[::1]:80',
    'otel:4317',
  ],
  ...[
    'http://zipkin:9411/x',
    'http://zipkin',
    'https://z/y?a=b',
    'http://[::1]:1/',
    'ftp://x/y',
    'http://dd:8126',
    'http://a:99999',
    'mailto:x',
  ],
  ...[
    'spiffe://a/b',
    'spiffe://a',
    'aGk=',
    '50Mbps',
    '0kbps',
    '1kbps',
    '10 Gbps',
    '99999999Gbps',
    '0',
    '12.5',
    '100',
    '100.0',
    '0.0001',
    '99.999',
  ],
];
const DURATIONS = [
  '0s',
  '1ns',
  '1us',
  '1ms',
  '9ms',
  '50ms',
  '51ms',
  '0.5s',
  '1s',
  '10s',
  '1m30s',
  '1h',
  '87600h',
  '2562047h',
  '2562047h47m16s',
  '2562047h47m16.5s',
  '9999999h',
  '1e3s',
];
const NUMBERS = [
  0, 1, 2, 3, 5, 10, 50, 99, 100, 101, 199, 200, 299, 400, 429, 499, 503, 599, 600, 1000, 1023, 1024, 65_535, 65_537,
];
const WIDE = [1_000_000, 5_000_011, 8_000_000, 8_388_608, 2 ** 31 - 1, 2 ** 32 - 1, 2 ** 53 - 1];
const VALUES: Json[] = [
  'text %REQ(:PATH)%',
  { stringValue: 'x' },
  { kvlistValue: { values: [{ key: 'a', value: { intValue: '1' } }] } },
  7,
  null,
  [1],
  {},
];

const TOPS: JsonObject[] = [
  { kind: 'Mesh' },
  { kind: 'Dataplane' },
  { kind: 'Dataplane', labels: { app: 'shop' } },
  { kind: 'Dataplane', labels: { app: 'shop' }, sectionName: 'http' },
];
const DESTINATIONS: JsonObject[] = [
  { kind: 'Mesh' },
  ...['http', 'http2', 'grpc', 'tcp'].map((name) => ({ kind: 'MeshService', labels: { 'kuma.io/display-name': name } })),
  { kind: 'MeshService', labels: { 'kuma.io/display-name': 'http' }, sectionName: 'main' },
  { kind: 'MeshMultiZoneService', labels: { 'kuma.io/display-name': 'everywhere' } },
  { kind: 'MeshExternalService', labels: { 'kuma.io/display-name': 'outside' } },
  { kind: 'MeshHTTPRoute', labels: { 'kuma.io/display-name': 'route' } },
];
const BACKENDS: JsonObject[] = [
  { kind: 'MeshService', labels: { 'kuma.io/display-name': 'http' }, port: 80 },
  { kind: 'MeshService', labels: { 'kuma.io/display-name': 'tcp' }, port: 80 },
  { kind: 'MeshMultiZoneService', labels: { 'kuma.io/display-name': 'everywhere' }, port: 80 },
  { kind: 'MeshExternalService', labels: { 'kuma.io/display-name': 'outside' } },
  { kind: 'MeshService', labels: { 'kuma.io/display-name': 'none' }, port: 80 },
  { kind: 'MeshOpenTelemetryBackend', labels: { 'kuma.io/display-name': 'collector' } },
];

/** A spec of a policy type that a PUT takes. */
export function acceptedSpec(type: string): fc.Arbitrary<JsonObject> {
  const definition = specDefinitions.get(type);
  if (definition === undefined) throw new Error(`${type} has no schema`);
  return valueOf(definition.schema, '', 0)
    .map((spec) => repaired(type, spec as JsonObject))
    .filter((spec): spec is JsonObject => spec !== null);
}

function valueOf(schema: z.ZodType, key: string, depth: number): fc.Arbitrary<Json | undefined> {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault) {
    const weight = depth < 3 ? 4 : 2;
    return fc.oneof(
      { weight, arbitrary: valueOf(schema.unwrap() as z.ZodType, key, depth) },
      { weight: 1, arbitrary: fc.constant<Json | undefined>(undefined) },
    );
  }
  const known = referencesOf(key, depth);
  if (known !== null) return fc.constantFrom(...withWeights(known.filter((ref) => schema.safeParse(ref).success)));
  if (schema instanceof z.ZodObject) return objectOf(schema, depth);
  if (schema instanceof z.ZodArray) {
    const items = fc.array(valueOf(schema.element as z.ZodType, key, depth + 1), {
      maxLength: key === 'set' || key === 'add' ? 12 : key === 'appendModifications' ? 4 : 3,
    });
    return items.map((list) => list.filter((item) => item !== undefined));
  }
  if (schema instanceof z.ZodEnum) return fc.constantFrom(...(schema.options as Json[]));
  if (schema instanceof z.ZodLiteral) return fc.constantFrom(...([...schema.values] as Json[]));
  if (schema instanceof z.ZodBoolean) return fc.boolean();
  if (schema instanceof z.ZodRecord) return fc.constantFrom<Json>({}, { app: 'shop' }, { a: '' });
  if (schema instanceof z.ZodUnknown) return fc.constantFrom<Json>(...VALUES);
  const all: Json[] = [...TEXTS, ...DURATIONS, ...NUMBERS, ...WIDE];
  const taken = all.filter((candidate) => schema.safeParse(candidate).success);
  if (taken.length === 0) throw new Error(`no candidate for ${key}`);
  return fc.constantFrom(...taken);
}

function referencesOf(key: string, depth: number): JsonObject[] | null {
  if (key === 'targetRef') return depth <= 1 ? TOPS : DESTINATIONS;
  return key === 'backendRef' || key === 'backendRefs[]' ? BACKENDS : null;
}

function withWeights(refs: JsonObject[]): JsonObject[] {
  return refs.flatMap((ref) =>
    typeof ref['port'] === 'number' ? [ref, ...[0, 3, 2 ** 32 - 1].map((weight) => ({ ...ref, weight }))] : [ref],
  );
}

function objectOf(schema: z.ZodObject, depth: number): fc.Arbitrary<Json> {
  const shape = schema.shape as Readonly<Record<string, z.ZodType>>;
  const members = Object.entries(shape).map(([key, member]) => [key, valueOf(member, key, depth + 1)] as const);
  return fc
    .record(Object.fromEntries(members))
    .map((record) => Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined)) as JsonObject);
}

/** The spec without what the check refuses; null where that leads nowhere. */
function repaired(type: string, given: JsonObject): JsonObject | null {
  const spec = structuredClone(given);
  for (let round = 0; round < 12; round += 1) {
    const { violations } = checkSpec(typeOf(type), { labels: {}, mesh: 'default', name: 'p', spec }, { strict: true });
    if (violations.length === 0) return spec;
    for (const { field, reason } of violations) takeOut(spec, keysOf(field), /^must (be given|have)/.test(reason));
  }
  return null;
}

function keysOf(field: string): string[] {
  return field
    .split(/[.[\]]+/)
    .filter((key) => key !== '')
    .slice(1);
}

/** Takes out the value at a path, or what holds it where the value is missing. */
function takeOut(spec: JsonObject, path: readonly string[], isMissing: boolean): void {
  let keys = path;
  for (;;) {
    const parent = keys
      .slice(0, -1)
      .reduce<Json | undefined>((value, key) => (value as Record<string, Json> | undefined)?.[key], spec);
    const last = keys.at(-1);
    if (last === undefined) return;
    const holds = typeof parent === 'object' && parent !== null && Object.hasOwn(parent, last);
    if (holds && !(isMissing && keys === path && keys.length > 1)) {
      if (Array.isArray(parent)) parent.splice(Number(last), 1);
      else Reflect.deleteProperty(parent, last);
      return;
    }
    keys = keys.slice(0, -1);
  }
}
