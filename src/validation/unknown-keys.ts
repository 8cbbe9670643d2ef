// Keys of a written spec of a protobuf type that its message does not have: decoding drops them silently (D7). The descriptor decides,
// not the value. Pure.
import type { Violation } from '../base/violations.ts';
import { planOf, type FieldPlan, type MessagePlan } from '../wire/message-plan.ts';
import { withoutOlderKeys } from '../resource/older-keys.ts';
import { isObject } from '../resource/read-json.ts';
import { keyHint } from '../resource/nearest-key.ts';
import { child } from '../resource/spec-path.ts';
import type { TypeInfo } from '../resource/type-registry.ts';
import type { Json, JsonObject } from '../resource/types.ts';

/**
 * A violation for each unknown key. Original and camelCase names are known, and so are keys of Kuma 2.x, which are warnings
 * (`olderKeyWarnings`). A JSON type has none.
 */
export function unknownKeys(info: TypeInfo, spec: JsonObject): Violation[] {
  if (info.codec.kind === 'json') return [];
  return ofMessage(planOf(info.codec.message), withoutOlderKeys(info, spec), '').map(({ path, hint }) => ({
    field: path.replace(/^\./, ''),
    reason: `is not a known key of ${info.name}; ${hint}`,
  }));
}

/** A key that no message has. @property hint the key that was meant */
type Unknown = { readonly path: string; readonly hint: string };

function ofMessage({ wellKnown, fields }: MessagePlan, json: Json, path: string): Unknown[] {
  // Structs have any keys, and the others are no objects.
  if (wellKnown !== null || !isObject(json)) return [];
  const known = new Map(fields.flatMap((field) => [field.name, field.jsonName].map((name) => [name, field])));
  return Object.entries(json).flatMap(([key, value]) => {
    const field = known.get(key);
    const at = child(path, key);
    if (field !== undefined) return ofField(field, value, at);
    return [
      {
        path: at,
        hint: keyHint(
          key,
          fields.map(({ jsonName }) => jsonName),
        ),
      },
    ];
  });
}

function ofField({ shape, value: plan }: FieldPlan, json: Json, path: string): Unknown[] {
  if (plan.kind !== 'message') return [];
  if (shape === 'single') return ofMessage(plan.message, json, path);
  const members =
    shape === 'list' ? (Array.isArray(json) ? [...json.entries()] : []) : isObject(json) ? Object.entries(json) : [];
  return members.flatMap(([step, member]) => ofMessage(plan.message, member, child(path, step)));
}
