import { compareText } from '../base/compare-text.ts';
import { isObject } from '../resource/read-json.ts';
import type { Json } from '../resource/types.ts';

/** The JSON of a value, which two objects with one content have in common. */
export function sortedText(value: Json): string {
  return JSON.stringify(value, (_, part: Json) =>
    isObject(part) ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => compareText(a, b))) : part,
  );
}
