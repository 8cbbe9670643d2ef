// `set`, `add` and `remove` of a header modifier (policies 2.5): at least one list, at most 16 a list, no header twice.
import type { JsonObject } from '../resource/types.ts';
import type { Field } from './field.ts';
import { textForms } from './text-forms.ts';

const MAX_HEADERS = 16;

/** The modifier with lower-case names: header names know no case, and MeshHTTPRoute takes these alone. */
export function parseHeaderModifier(conf: Field): JsonObject {
  conf.allowKeys(['set', 'add', 'remove']);
  const seen = new Map<string, string>();
  const note = (name: Field, text: string | undefined): string | undefined => {
    if (text === undefined) return undefined;
    const lower = text.toLowerCase();
    const other = seen.get(lower);
    seen.set(lower, name.path);
    return other === undefined ? lower : name.refuse(`${JSON.stringify(lower)} is modified by ${other} already: keep one`);
  };
  const lists: JsonObject = {};
  for (const key of ['set', 'add'] as const) {
    const pairs = itemsOf(conf.at(key)).flatMap((item) => {
      if (!item.isGiven) item.refuse('must be an object with name and value');
      if (!item.isGiven || !item.isObject()) return [];
      item.allowKeys(['name', 'value']);
      const name = note(item.at('name'), item.at('name').requiredText(textForms.headerName));
      const value = item.at('value').requiredText(textForms.value);
      return name === undefined || value === undefined ? [] : [{ name, value }];
    });
    if (pairs.length > 0) lists[key] = pairs;
  }
  const remove = itemsOf(conf.at('remove')).flatMap((item) => {
    const name = note(item, item.requiredText(textForms.headerName));
    return name === undefined ? [] : [name];
  });
  if (remove.length > 0) lists['remove'] = remove;
  const isEmpty = ['set', 'add', 'remove'].every((key) => !conf.at(key).isGiven || conf.at(key).isEmptyList);
  if (isEmpty) conf.refuse('must have set, add or remove: it would modify nothing');
  return lists;
}

function itemsOf(list: Field): Field[] {
  const items = list.items();
  if (items.length > MAX_HEADERS) list.refuse(`must have at most ${String(MAX_HEADERS)} items, not ${String(items.length)}`);
  return items;
}
