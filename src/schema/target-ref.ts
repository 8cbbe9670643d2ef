// References by kind: which fields each kind takes (policies 1.1, 1.4). Both spellings, by name and by labels (D8).
import { z } from 'zod';
import type { JsonObject } from '../resource/types.ts';
import type { Findings } from './findings.ts';
import { at, isSet, items } from '../resource/json-access.ts';
import { isObject } from '../resource/read-json.ts';
import { choice, integer, pattern, port, sectionName, textMap, UINT32_MAX } from './spec-fields.ts';
import { withRules } from './spec-rules.ts';
import { child } from '../resource/spec-path.ts';
import { SERVICE_TYPES } from '../resource/type-registry.ts';

export type Kinds = readonly [string, ...string[]];

export const ROUTE_KINDS = ['MeshHTTPRoute', 'MeshTCPRoute'] as const;
/** The kinds with which every policy may select proxies; MeshGateway matches nothing (D14). */
export const PROXY_KINDS = ['Mesh', 'Dataplane', 'MeshSubset', 'MeshService', 'MeshServiceSubset'] as const;

const FIELDS = ['name', 'namespace', 'labels', 'tags', 'sectionName', 'proxyTypes', 'mesh'] as const;
const BY_NAME_OR_LABELS = ['name', 'namespace', 'labels'];

/** Fields that each kind takes besides `kind`. */
const FIELDS_OF: ReadonlyMap<string, readonly string[]> = new Map([
  ['Mesh', ['proxyTypes']],
  ['Dataplane', [...BY_NAME_OR_LABELS, 'sectionName']],
  ['MeshSubset', ['tags', 'proxyTypes']],
  ['MeshService', [...BY_NAME_OR_LABELS, 'sectionName']],
  ['MeshServiceSubset', ['name', 'tags']],
  ['MeshGateway', ['name', 'tags']],
  ['MeshExternalService', BY_NAME_OR_LABELS],
  ['MeshMultiZoneService', [...BY_NAME_OR_LABELS, 'sectionName']],
  ['MeshHTTPRoute', BY_NAME_OR_LABELS],
  ['MeshTCPRoute', BY_NAME_OR_LABELS],
]);
const NEEDS_NAME = new Set(['MeshServiceSubset', 'MeshGateway']);
const NEEDS_NAME_OR_LABELS = new Set<string>([...SERVICE_TYPES, ...ROUTE_KINDS]);

const TAG_KEY = /^[a-zA-Z0-9.\-_:/]+$/;
const TAG_VALUE = /^[a-zA-Z0-9.\-_:]+$/;
const NAME = 'lower-case letters, digits, dots, hyphens and underscores';

/** The fields of a reference whose kind is one of `kinds`. */
function shape<const K extends Kinds>(kinds: K) {
  return {
    kind: choice(...kinds).describe('Kind of what is referred to. It decides which other fields may be set.'),
    name: pattern(/^[0-9a-z.\-_]*$/, NAME)
      .describe('Display name of the resource.')
      .optional(),
    namespace: pattern(/^[0-9a-z.\-_]*$/, NAME)
      .describe('Namespace of `name`; without it the namespace of the policy.')
      .optional(),
    labels: textMap().describe('All resources of the kind that carry every one of these labels.').optional(),
    tags: textMap().describe('Tags of inbounds. Deprecated: use labels.').optional(),
    sectionName: sectionName().describe('One port or listener, by its name, else by its port as text.').optional(),
    proxyTypes: z
      .array(choice('Sidecar', 'Gateway'))
      .min(1)
      .describe('Only proxies of these types: sidecars of an application, or gateways. All if not set.')
      .optional(),
    mesh: z
      .string()
      .max(0, 'must not be set: a reference stays within its mesh')
      .describe('Must be empty: a reference stays within its mesh.')
      .optional(),
  };
}

/** A reference to one of `kinds`. */
export function targetRef<const K extends Kinds>(...kinds: K) {
  return withRules(z.object(shape(kinds)), checkReference);
}

/**
 * The reference to a backend, to which a route sends requests (policies 1.4).
 * @param more fields of the backends of one type of route
 */
export function backendRef<M extends z.ZodRawShape>(more: M) {
  return withRules(
    z.object({
      ...shape([...SERVICE_TYPES, 'MeshServiceSubset']),
      ...more,
      weight: integer(0, UINT32_MAX, 'uint32').describe('Share of the requests: weight by the sum of all weights.').default(1),
      port: port('uint32').describe('Port of the service. A MeshMultiZoneService needs it.').optional(),
    }),
    checkReference,
    needsPort,
  );
}

/** A rule for the conf of a route: Envoy holds the sum of its weights in 32 bits (xds 3.3). */
export function weightsInRange(conf: JsonObject, path: string, findings: Findings): void {
  const weights = items(conf['backendRefs']).map((ref) => at(ref, 'weight') ?? 1);
  const sum = weights.reduce<number>((total, weight) => total + (typeof weight === 'number' ? weight : 0), 0);
  if (weights.length > 1 && sum > UINT32_MAX)
    findings.violation(child(path, 'backendRefs'), `must have weights of at most ${UINT32_MAX} together`);
}

/** A section name does not stand for the port: peers take none (policies 1.4). */
function needsPort({ kind, port }: JsonObject, path: string, findings: Findings): void {
  if (kind === 'MeshMultiZoneService' && !isSet(port)) findings.violation(child(path, 'port'), `must be given with kind ${kind}`);
}

function checkReference(ref: JsonObject, path: string, findings: Findings): void {
  const kind = ref['kind'];
  const fields = typeof kind === 'string' ? FIELDS_OF.get(kind) : undefined;
  checkTags(ref, path, findings);
  if (typeof kind !== 'string' || fields === undefined) return;
  for (const field of FIELDS) {
    if (field !== 'mesh' && isSet(ref[field]) && !fields.includes(field))
      findings.violation(child(path, field), `must not be set with kind ${kind}: allowed are ${fields.join(', ')}`);
  }
  const hasName = isSet(ref['name']);
  const hasLabels = isSet(ref['labels']);
  if (NEEDS_NAME.has(kind) && !hasName) findings.violation(child(path, 'name'), `must be given with kind ${kind}`);
  if (!fields.includes('labels')) return;
  if (hasLabels && (hasName || isSet(ref['namespace'])))
    findings.violation(child(path, 'labels'), 'must not be set beside name or namespace: refer by one or the other');
  else if (!hasLabels && !hasName && (NEEDS_NAME_OR_LABELS.has(kind) || isSet(ref['namespace'])))
    findings.violation(child(path, 'name'), `must be given with kind ${kind}, or labels in its place`);
}

function checkTags(ref: JsonObject, path: string, findings: Findings): void {
  const tags = ref['tags'];
  if (!isObject(tags)) return;
  for (const [key, value] of Object.entries(tags)) {
    const at = child(child(path, 'tags'), key);
    if (!TAG_KEY.test(key)) findings.violation(at, 'must have a key of letters, digits and . - _ : /');
    if (typeof value === 'string' && !TAG_VALUE.test(value))
      findings.violation(at, 'must be letters, digits and . - _ :, not empty');
  }
}
