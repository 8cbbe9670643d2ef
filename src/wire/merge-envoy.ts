// Merges messages of Envoy's API as proto3 JSON, the way protobuf merges: a field replaces, a message is merged, a list is appended.
import { TYPE_URL_PREFIX } from './any.ts';
import { envoyBinaryToJson } from './binary-to-json.ts';
import { envoyJsonToBinary } from './json-to-binary.ts';
import { envoyPlanOf, type FieldPlan, type MessagePlan } from './message-plan.ts';
import type { StructObject, StructValue } from './struct.ts';

/** The lists with one item for each value of a field, by message: they are merged item by item. */
const KEYED_LISTS: ReadonlyMap<string, { readonly field: string; readonly key: string }> = new Map([
  ['envoy.config.cluster.v3.CircuitBreakers', { field: 'thresholds', key: 'priority' }],
]);

/**
 * The message with the names of proto3 JSON and without defaults.
 * @throws ProtoJsonError for JSON that is no such message
 */
export function canonicalEnvoyJson(message: string, json: StructObject): StructObject {
  return envoyBinaryToJson(message, envoyJsonToBinary(message, json));
}

/**
 * A copy of `base` with `patch` merged into it. Maps are merged by key, and a message inside an Any with one of the same type. A
 * member of a oneof replaces the other members.
 * @param patch the patch in its canonical form
 */
export function mergeEnvoyJson(message: string, base: StructObject, patch: StructObject): StructObject {
  return merged(envoyPlanOf(message), base, patch);
}

function merged(plan: MessagePlan, base: StructObject, patch: StructObject): StructObject {
  const result: StructObject = { ...base };
  for (const [key, value] of Object.entries(patch)) {
    const field = plan.fields.find(({ jsonName }) => jsonName === key);
    if (field?.oneof !== null && field !== undefined)
      for (const other of plan.fields)
        if (other !== field && other.oneof === field.oneof) Reflect.deleteProperty(result, other.jsonName);
    const before = result[key];
    result[key] = field === undefined || before === undefined ? value : mergedField(plan, field, before, value);
  }
  return result;
}

function mergedField(plan: MessagePlan, field: FieldPlan, before: StructValue, value: StructValue): StructValue {
  if (field.shape === 'list') {
    if (!Array.isArray(before) || !Array.isArray(value)) return value;
    const keyed = KEYED_LISTS.get(plan.name);
    return keyed?.field === field.jsonName ? mergedItems(field, keyed.key, before, value) : [...before, ...value];
  }
  if (!isObject(before) || !isObject(value)) return value;
  if (field.shape === 'map') {
    const entries = Object.entries(value).map(([key, member]): [string, StructValue] => {
      const known = Object.hasOwn(before, key) ? before[key] : undefined;
      return [key, known === undefined ? member : mergedValue(field, known, member)];
    });
    return { ...before, ...Object.fromEntries(entries) };
  }
  return mergedValue(field, before, value);
}

function mergedItems(
  field: FieldPlan,
  key: string,
  before: readonly StructValue[],
  items: readonly StructValue[],
): StructValue[] {
  const result = [...before];
  for (const item of items) {
    const at = result.findIndex((known) => isObject(known) && isObject(item) && known[key] === item[key]);
    const known = result[at];
    if (known === undefined) result.push(item);
    else result[at] = mergedValue(field, known, item);
  }
  return result;
}

function mergedValue({ value: plan }: FieldPlan, before: StructValue, value: StructValue): StructValue {
  if (plan.kind !== 'message' || !isObject(before) || !isObject(value)) return value;
  const { message } = plan;
  switch (message.wellKnown) {
    case null:
      return merged(message, before, value);
    case 'Any':
      return mergedAny(message, before, value);
    case 'Struct':
      return { ...before, ...value };
    default:
      return value;
  }
}

function mergedAny(plan: MessagePlan, before: StructObject, value: StructObject): StructObject {
  const type = value['@type'];
  if (typeof type !== 'string' || type !== before['@type']) return value;
  return merged(plan.sibling(type.slice(TYPE_URL_PREFIX.length)), before, value);
}

function isObject(value: StructValue): value is StructObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
