// Spellings of Kuma 2.x that are rewritten by an import because their meaning stays. What is not in this table stays as it is, and the check
// for losses names it. Pure.
import { withoutOlderKeys } from '../resource/older-keys.ts';
import { isObject, objectOf, objectsOf } from '../resource/read-json.ts';
import { edit, path, without } from '../resource/spec-places.ts';
import { label } from '../resource/labels.ts';
import { findType, type TypeInfo } from '../resource/type-registry.ts';
import type { Json, JsonObject } from '../resource/types.ts';
import { checkSpec } from '../validation/check-spec.ts';
import { toKumaForm } from '../validation/kuma-form.ts';
import type { TakenRow } from '../takeover/taken-row.ts';

/** What the other rows of a dump say about a conversion. */
export type Surroundings = {
  /** Whether a zone of Kuma 2.x connected. */
  readonly hasOlderZones: boolean;
  /** Whether the mesh has a built-in gateway. */
  readonly hasBuiltinGateway: (mesh: string) => boolean;
  /** Whether the mesh has a Dataplane that is a gateway. */
  readonly hasGatewayProxy: (mesh: string) => boolean;
  readonly has: (key: Pick<TakenRow, 'type' | 'mesh' | 'name'>) => boolean;
};

/** @property field as violations print it */
export type Note = { readonly field: string; readonly what: string };

/** The rows that a row becomes, at most two. @property isUnused the row has no effect and becomes none */
export type Converted = { readonly rows: readonly TakenRow[]; readonly notes: readonly Note[]; readonly isUnused?: boolean };

type Conversion = {
  readonly of: (info: TypeInfo) => boolean;
  /** Undefined where there is nothing to convert, or the meaning would change. */
  readonly convert: (row: TakenRow, info: TypeInfo, around: Surroundings) => Converted | undefined;
};

const PROXY_TYPES = path('targetRef.proxyTypes');

const CONVERSIONS: readonly Conversion[] = [
  { of: ({ policy }) => policy !== null, convert: ofGatewaysAlone },
  { of: ({ policy }) => policy !== null, convert: ofAllProxies },
  { of: ({ policy }) => policy?.rules === true, convert: fromToRules },
  { of: ({ name }) => name === 'MeshExternalService', convert: typedCertificates },
  { of: ({ name }) => name === 'Mesh', convert: meshPassthrough },
  { of: ({ name }) => name === 'Mesh', convert: meshWithoutAuthority },
];

/** Applies each conversion that fits. */
export function convertRow(row: TakenRow, around: Surroundings): Converted {
  const info = findType(row.type);
  let done: Converted = { rows: [row], notes: [] };
  if (info === undefined) return done;
  for (const { convert } of CONVERSIONS.filter(({ of }) => of(info))) {
    const [first, ...others] = done.rows;
    const next = first === undefined ? undefined : convert(first, info, around);
    if (next === undefined) continue;
    if (next.isUnused === true) return next;
    done = { rows: [...next.rows, ...others], notes: [...done.notes, ...next.notes] };
  }
  return done;
}

function proxyTypesOf({ spec }: TakenRow): readonly Json[] {
  const types = objectOf(spec['targetRef'])['proxyTypes'];
  return Array.isArray(types) ? types : [];
}

/** A policy for the built-in gateways of a mesh that has none. */
function ofGatewaysAlone(row: TakenRow, _info: TypeInfo, around: Surroundings): Converted | undefined {
  if (!isForGatewaysAlone(row) || around.hasBuiltinGateway(row.mesh)) return undefined;
  return { rows: [], notes: [{ field: 'spec.targetRef.proxyTypes', what: 'the mesh has no built-in gateway' }], isUnused: true };
}

/** Whether a policy is for built-in gateways and for no other proxy. */
export function isForGatewaysAlone(row: TakenRow): boolean {
  const types = proxyTypesOf(row);
  return types.length > 0 && types.every((type) => type === 'Gateway');
}

/** `proxyTypes` that name every proxy of the mesh. */
function ofAllProxies(row: TakenRow, _info: TypeInfo, around: Surroundings): Converted | undefined {
  const types = proxyTypesOf(row);
  if (!types.includes('Sidecar')) return undefined;
  const hasOthers = around.hasBuiltinGateway(row.mesh) || around.hasGatewayProxy(row.mesh);
  if (!types.includes('Gateway') && hasOthers) return undefined;
  const spec = edit(row.spec, PROXY_TYPES.slice(0, -1), (ref) => without(ref, ['proxyTypes']));
  return { rows: [{ ...row, spec }], notes: [{ field: 'spec.targetRef.proxyTypes', what: 'left out: it names every proxy' }] };
}

/** `from` with one item for every client is `rules` with one rule. A policy with `to` is divided. */
function fromToRules(row: TakenRow, info: TypeInfo, around: Surroundings): Converted | undefined {
  const { from, ...rest } = row.spec;
  const [item, ...others] = objectsOf(from);
  if (item === undefined || others.length > 0 || !Array.isArray(from) || from.length !== 1 || rest['rules'] !== undefined)
    return undefined;
  if (Object.keys(item).some((key) => key !== 'targetRef' && key !== 'default')) return undefined;
  const { kind, ...narrowed } = objectOf(item['targetRef']);
  if (kind !== 'Mesh' || Object.keys(narrowed).length > 0 || !isObject(item['default'])) return undefined;
  const rules = [{ default: item['default'] }];
  const hasTo = Array.isArray(rest['to']) && rest['to'].length > 0;
  const { to, ...frame } = rest;
  const inbound: TakenRow = hasTo
    ? namedLike(row, `${row.name}-inbound`, { ...frame, rules })
    : { ...row, spec: { ...frame, rules, ...(to !== undefined && { to }) } };
  if (!isValid(info, inbound) || (hasTo && around.has(inbound))) return undefined;
  const what = hasTo ? `rules of a policy of its own, ${inbound.name}` : 'rules';
  const rows = hasTo ? [{ ...row, spec: { ...frame, to: to ?? null } }, inbound] : [inbound];
  return { rows, notes: [{ field: 'spec.from', what }] };
}

function namedLike(row: TakenRow, name: string, spec: JsonObject): TakenRow {
  return { ...row, name, labels: { ...row.labels, [label.displayName]: name }, spec };
}

function isValid(info: TypeInfo, { mesh, name, labels, spec }: TakenRow): boolean {
  return checkSpec(info, { mesh, name, labels, spec: withoutOlderKeys(info, spec) }, { strict: true }).violations.length === 0;
}

/** Sources of certificates get their type, which zones of Kuma 2.x do not read. */
function typedCertificates(row: TakenRow, info: TypeInfo, { hasOlderZones }: Surroundings): Converted | undefined {
  const spec = hasOlderZones ? row.spec : withTypedCertificates(info, row);
  if (spec === row.spec) return undefined;
  return { rows: [{ ...row, spec }], notes: [{ field: 'spec.tls.verification', what: 'each certificate with its type' }] };
}

/** The spec of a MeshExternalService with a type for each certificate; that of any other type as it is. */
export function withTypedCertificates(info: TypeInfo, row: TakenRow): JsonObject {
  if (info.name !== 'MeshExternalService') return row.spec;
  const form = toKumaForm(info, { ...row, status: undefined });
  return 'resource' in form ? form.resource.spec : row.spec;
}

/** `networking.outbound.passthrough: false` is a MeshPassthrough of the mesh. */
function meshPassthrough(row: TakenRow, _info: TypeInfo, around: Surroundings): Converted | undefined {
  const { outbound, ...others } = objectOf(row.spec['networking']);
  const { passthrough, ...rest } = objectOf(outbound);
  if (typeof passthrough !== 'boolean' || Object.keys(others).length > 0 || Object.keys(rest).length > 0) return undefined;
  const mesh = { ...row, spec: without(row.spec, ['networking']) };
  const field = 'networking.outbound.passthrough';
  if (passthrough) return { rows: [mesh], notes: [{ field, what: 'left out: it is the default' }] };
  const name = `mesh-passthrough-${row.name}`;
  const policy: TakenRow = {
    ...{ type: 'MeshPassthrough', mesh: row.name, name },
    labels: { [label.displayName]: name, [label.mesh]: row.name },
    spec: { targetRef: { kind: 'Mesh' }, default: { passthroughMode: 'None' } },
  };
  if (around.has(policy)) return undefined;
  return { rows: [mesh, policy], notes: [{ field, what: `a MeshPassthrough, ${name}` }] };
}

/** Authorities of which none is enabled have no effect. */
function meshWithoutAuthority(row: TakenRow): Converted | undefined {
  const { mtls } = row.spec;
  if (!isObject(mtls) || (mtls['enabledBackend'] ?? '') !== '') return undefined;
  return { rows: [{ ...row, spec: without(row.spec, ['mtls']) }], notes: [{ field: 'mtls', what: 'left out: none is enabled' }] };
}
