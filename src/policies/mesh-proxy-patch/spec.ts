// MeshProxyPatch: changes of the Envoy configuration that no other policy offers.
import { z } from 'zod';
import type { Violation } from '../../base/errors.ts';
import { perObject } from '../../base/per-object.ts';
import type { JsonObject } from '../../resource/types.ts';
import { Findings } from '../../schema/findings.ts';
import { addSchemaViolations } from '../../schema/schema-violations.ts';
import { readEnvoyValue } from '../../schema/envoy-value.ts';
import { at, isSet, items } from '../../resource/json-access.ts';
import { proxyRef } from '../../schema/policy-frame.ts';
import { isObject } from '../../resource/read-json.ts';
import { choice, json, must, textMap } from '../../schema/spec-fields.ts';
import { withRules, type Rule } from '../../schema/spec-rules.ts';
import { child } from '../../resource/spec-path.ts';
import type { Kinds } from '../../schema/target-ref.ts';

const TARGETS = ['cluster', 'listener', 'networkFilter', 'httpFilter', 'virtualHost'] as const;
type Target = (typeof TARGETS)[number];
/** Characters of Envoy resources that are read of one document. */
const MAX_ENVOY_TEXT = 65_536;
const WITH_VALUE = new Set<unknown>(['add', 'replace']);
const WITH_FROM = new Set<unknown>(['move', 'copy']);
const NEAR_A_FILTER = new Set<unknown>(['AddBefore', 'AddAfter', 'Patch']);

const anyText = () => z.string(must('text'));
const origin = () => anyText().describe('What made the resource, such as inbound or outbound.').optional();

const jsonPatch = withRules(
  z.object({
    op: choice('add', 'remove', 'replace', 'move', 'copy').describe('Operation of RFC 6902.'),
    path: anyText().describe('JSON pointer to the changed value.'),
    value: json().describe('The new value. For add and replace.').optional(),
    from: anyText().describe('JSON pointer to the moved or copied value. For move and copy.').optional(),
  }),
  checkJsonPatch,
);

/** A modification of one kind of Envoy resource. */
function modification<const O extends Kinds, M extends z.ZodType>(operations: O, match: M, ...rules: readonly Rule[]) {
  return withRules(
    z.object({
      operation: choice(...operations).describe('Whether something is added, changed or removed, and for filters where.'),
      match,
      value: anyText().describe('Envoy resource in YAML or JSON.').optional(),
      jsonPatches: z.array(jsonPatch).describe('Changes of the matched resources. For operation Patch.').optional(),
    }),
    checkValue,
    ...rules,
  );
}

const filterMatch = z
  .object({
    name: anyText().describe('The filter of this name alone.').optional(),
    listenerName: anyText().describe('Only filters of the listener of this name.').optional(),
    listenerTags: textMap().describe('Only listeners that have all of these tags.').optional(),
    origin: origin(),
  })
  .describe('Which filters it is about. All if not set.')
  .optional();
const FILTER_OPERATIONS = ['Remove', 'Patch', 'AddFirst', 'AddBefore', 'AddAfter', 'AddLast'] as const;
const RESOURCE_OPERATIONS = ['Add', 'Remove', 'Patch'] as const;

const cluster = modification(
  RESOURCE_OPERATIONS,
  z
    .object({ name: anyText().describe('The cluster of this name alone.').optional(), origin: origin() })
    .describe('Which clusters it is about. All if not set.')
    .optional(),
  noMatchToAdd,
);
const listener = modification(
  RESOURCE_OPERATIONS,
  z
    .object({
      name: anyText().describe('The listener of this name alone.').optional(),
      origin: origin(),
      tags: textMap().describe('Only listeners that have all of these tags.').optional(),
    })
    .describe('Which listeners it is about. All if not set.')
    .optional(),
  noMatchToAdd,
);
const virtualHost = modification(
  RESOURCE_OPERATIONS,
  z
    .object({
      name: anyText().describe('The virtual host of this name alone.').optional(),
      origin: origin(),
      routeConfigurationName: anyText().describe('Only virtual hosts of the route configuration of this name.').optional(),
    })
    .describe('Which virtual hosts it is about.'),
  (value, path, findings) => {
    if (value['operation'] === 'Add' && at(value, 'match.name') !== undefined)
      findings.violation(child(child(path, 'match'), 'name'), 'must not be set with operation Add');
  },
);

const modifications = withRules(
  z.object({
    cluster: cluster.describe('Changes clusters.').optional(),
    listener: listener.describe('Changes listeners.').optional(),
    networkFilter: modification(FILTER_OPERATIONS, filterMatch, filterName).describe('Changes network filters.').optional(),
    httpFilter: modification(FILTER_OPERATIONS, filterMatch, filterName).describe('Changes HTTP filters.').optional(),
    virtualHost: virtualHost.describe('Changes virtual hosts.').optional(),
  }),
  (value, path, findings) => {
    if (TARGETS.filter((key) => value[key] !== undefined).length !== 1)
      findings.violation(path, `must have exactly one of ${TARGETS.join(', ')}`);
  },
);

/** A modification whose shape is checked: it changes one kind of resource. */
export type ProxyModification = z.infer<typeof modifications>;
/** An operation of RFC 6902 whose shape is checked. */
export type JsonPatch = z.infer<typeof jsonPatch>;

/**
 * The modifications of a conf that no check has seen, with their places, and what has another shape than a modification. What they ask of
 * Envoy's resources is seen where they are applied.
 */
export const modificationsIn = perObject((conf: JsonObject) => {
  const found: { readonly at: number; readonly modification: ProxyModification }[] = [];
  const refused: Violation[] = [];
  for (const [at, item] of items(conf['appendModifications']).entries()) {
    const before = refused.length;
    const place = child('appendModifications', at);
    const refuse = (field: string, reason: string) => refused.push({ field: field.replace(/^spec/, place), reason });
    if (isObject(item)) addSchemaViolations(modifications, item, new Findings(refuse));
    else refuse('spec', 'must be an object');
    // The schema has nothing against it.
    if (refused.length === before) found.push({ at, modification: item as ProxyModification });
  }
  return { found, refused };
});

export const meshProxyPatchSpec = z.object({
  targetRef: proxyRef(),
  default: withRules(
    z.object({ appendModifications: z.array(modifications).min(1).describe('The changes, in order.') }),
    checkEnvoyValues,
  ).describe('Conf of the selected proxies.'),
});

/** Envoy texts up to a size that is checked in a moment. */
function checkEnvoyValues({ appendModifications }: JsonObject, path: string, findings: Findings): void {
  let left = MAX_ENVOY_TEXT;
  for (const [index, change] of items(appendModifications).entries()) {
    for (const target of TARGETS) {
      const value = at(change, `${target}.value`);
      if (typeof value !== 'string' || value.length > left) continue;
      left -= value.length;
      const field = `${child(path, 'appendModifications')}[${index}].${target}.value`;
      checkEnvoyValue(target, at(change, `${target}.operation`), value, field, findings);
    }
  }
}

/** Envoy's own validation of a resource, for the fields that every resource has. */
function checkEnvoyValue(target: Target, operation: unknown, text: string, path: string, findings: Findings): void {
  if (operation === 'Remove') return;
  const resource = readEnvoyValue(text);
  if (resource === null) findings.violation(path, 'must be an Envoy resource in YAML or JSON: one object');
  if (!isObject(resource) || operation === 'Patch' || target === 'listener') return;
  const { name } = resource;
  if (typeof name !== 'string' || name === '') findings.violation(path, `must be a ${target} with a name`);
  if (target === 'virtualHost' && items(resource['domains']).length === 0)
    findings.violation(path, 'must be a virtualHost with at least one item in domains');
}

function checkValue(value: JsonObject, path: string, findings: Findings): void {
  const operation = value['operation'];
  if (typeof operation !== 'string') return;
  const hasValue = value['value'] !== undefined;
  const hasPatches = items(value['jsonPatches']).length > 0;
  if (operation === 'Remove') {
    if (hasValue) findings.violation(child(path, 'value'), 'must not be set with operation Remove');
  } else if (operation === 'Patch') {
    if (hasValue === hasPatches) findings.violation(path, 'must have exactly one of value, jsonPatches with operation Patch');
  } else if (!hasValue) findings.violation(child(path, 'value'), `must be given with operation ${operation}`);
}

function checkJsonPatch(patch: JsonObject, path: string, findings: Findings): void {
  const { op } = patch;
  if (typeof op !== 'string') return;
  for (const [key, takes] of [
    ['value', WITH_VALUE.has(op)],
    ['from', WITH_FROM.has(op)],
  ] as const) {
    const isGiven = key === 'from' ? isSet(patch[key]) : patch[key] !== undefined;
    if (op === 'remove' && patch['path'] === '') findings.violation(child(path, 'path'), 'must not be the root with op remove');
    if (isGiven !== takes)
      findings.violation(child(path, key), takes ? `must be given with op ${op}` : `must not be set with op ${op}`);
  }
}

/** An added resource is new, so that nothing can match it. */
function noMatchToAdd(value: JsonObject, path: string, findings: Findings): void {
  if (value['operation'] === 'Add' && value['match'] !== undefined)
    findings.violation(child(path, 'match'), 'must not be set with operation Add');
}

function filterName(value: JsonObject, path: string, findings: Findings): void {
  const { operation } = value;
  if (NEAR_A_FILTER.has(operation) && !isSet(at(value, 'match.name')))
    findings.violation(child(child(path, 'match'), 'name'), `must be given with operation ${String(operation)}`);
}
