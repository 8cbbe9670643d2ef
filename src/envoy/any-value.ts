// JSON as a value of an OpenTelemetry message (xds 3.3).
import { isObject, objectOf } from '../resource/read-json.ts';
import type { Json, JsonObject } from '../resource/types.ts';

const KINDS_OF_VALUE = new Set([
  ...['stringValue', 'boolValue', 'intValue', 'doubleValue', 'arrayValue', 'kvlistValue', 'bytesValue'],
  ...['string_value', 'bool_value', 'int_value', 'double_value', 'array_value', 'kvlist_value', 'bytes_value'],
]);

/**
 * JSON as an `opentelemetry.proto.common.v1.AnyValue`. What already is one stays one. Envoy takes texts, lists and pairs alone: other
 * values become text.
 * @param text each text in it, as it is sent
 */
export function anyValue(json: Json, text: (given: string) => string): JsonObject {
  if (isObject(json)) return written(json, text) ?? { kvlistValue: { values: pairs(Object.entries(json), text) } };
  if (Array.isArray(json)) return { arrayValue: { values: json.map((item) => anyValue(item, text)) } };
  if (typeof json === 'string') return { stringValue: text(json) };
  return { stringValue: json === null ? '' : String(json) };
}

function pairs(entries: readonly (readonly [string, Json])[], text: (given: string) => string): JsonObject[] {
  return entries.map(([key, value]) => ({ key, value: anyValue(value, text) }));
}

/** An AnyValue as it was written; null for other objects. */
function written(json: JsonObject, text: (given: string) => string): JsonObject | null {
  const [entry, ...others] = Object.entries(json);
  if (entry === undefined || others.length > 0 || !KINDS_OF_VALUE.has(entry[0])) return null;
  const [kind, value] = [entry[0].replace(/_v/, 'V'), entry[1]];
  switch (kind) {
    case 'stringValue':
      return typeof value === 'string' ? { stringValue: text(value) } : null;
    case 'boolValue':
    case 'intValue':
    case 'doubleValue':
    case 'bytesValue':
      return typeof value === 'object' ? null : { stringValue: String(value) };
  }
  const values = objectOf(value)['values'] ?? [];
  if (!isObject(value) || !Array.isArray(values)) return null;
  if (kind === 'arrayValue') return { arrayValue: { values: values.map((item) => anyValue(item, text)) } };
  const entries = values.flatMap((item) =>
    isObject(item) && typeof item['key'] === 'string' ? [[item['key'], item['value'] ?? null] as const] : [],
  );
  return entries.length === values.length ? { kvlistValue: { values: pairs(entries, text) } } : null;
}
