// A resource as `export` and `edit` print it: only the fields that a person may write, no computed ones. Pure.
import { label } from '../../resource/labels.ts';
import type { TypeInfo } from '../../resource/type-registry.ts';
import type { Json, JsonObject } from '../../resource/types.ts';
import type { Item } from '../client/api-client.ts';
import { objectOf } from '../../resource/read-json.ts';

const COMPUTED_KEYS = new Set(['creationTime', 'modificationTime', 'kri', 'snis', 'status']);
/** Every control plane writes its own (rest-api 2.5). */
const COMPUTED_LABELS = new Set<string>([
  label.displayName,
  label.origin,
  label.mesh,
  label.zone,
  label.env,
  label.policyRole,
  label.listenerZoneIngress,
  label.listenerZoneEgress,
]);
/** Keys of specs that PUT leaves as they are (D21). */
const COMPUTED_SPEC: Readonly<Record<string, readonly string[]>> = { MeshService: ['state', 'identities', 'zoneIngress'] };

/** The resource as one may apply it anywhere. */
export function applyable(info: TypeInfo, item: Item): JsonObject {
  const { spec, ...rest } = editable(item);
  const labels = Object.fromEntries(Object.entries(objectOf(rest['labels'])).filter(([key]) => !COMPUTED_LABELS.has(key)));
  const body = ordered({ ...without(rest, ['labels']), ...(Object.keys(labels).length > 0 && { labels }) });
  return spec === undefined ? body : { ...body, spec: without(objectOf(spec), COMPUTED_SPEC[info.name] ?? []) };
}

/** The resource without read-only fields, with all of its labels. */
export function editable(item: Item): JsonObject {
  return without(item, [...COMPUTED_KEYS]);
}

/** type, mesh, name and labels first, as people write them. */
function ordered(body: JsonObject): JsonObject {
  const first = ['type', 'mesh', 'name', 'labels'].flatMap((key) => {
    const value: Json | undefined = body[key];
    return value === undefined ? [] : [[key, value] as const];
  });
  return { ...Object.fromEntries(first), ...without(body, ['type', 'mesh', 'name', 'labels']) };
}

function without(object: JsonObject, keys: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([key]) => !keys.includes(key)));
}
