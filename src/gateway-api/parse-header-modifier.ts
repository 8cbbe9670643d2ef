// Modifiers of headers, of a rule and of a single backend, in the form that MeshHTTPRoute has them (policies 2.5).
import type { WrittenBackend, WrittenFilter } from '../policies/routes.ts';
import type { Field } from './field.ts';
import { textForms } from './text-forms.ts';

/** The filters that a backend may have, by type, with the keys of their conf. Others concern the whole rule. */
const OF_BACKEND = {
  RequestHeaderModifier: 'requestHeaderModifier',
  ResponseHeaderModifier: 'responseHeaderModifier',
} as const;
type BackendFilterType = keyof typeof OF_BACKEND;
const TYPES = Object.keys(OF_BACKEND) as BackendFilterType[];

type BackendFilter = NonNullable<WrittenBackend['filters']>[number];
type Modifier = NonNullable<WrittenFilter['requestHeaderModifier']>;

/** The `filters` of a backend, as a MeshHTTPRoute has them. */
export function parseBackendFilters(entry: Field): BackendFilter[] {
  const seen = new Map<string, string>();
  return entry
    .at('filters')
    .items()
    .flatMap((item): BackendFilter[] => {
      if (!item.isGiven) item.refuse('must be an object with type');
      if (!item.isGiven || !item.isObject()) return [];
      const type = item.at('type');
      const found = TYPES.find((known) => type.shown === JSON.stringify(known));
      if (found === undefined) {
        type.refuse(`must be one of ${TYPES.join(', ')} for a single backend: write other filters beside matches`);
        return [];
      }
      const conf = item.at(OF_BACKEND[found]);
      item.allowKeys(['type', OF_BACKEND[found]]);
      const other = seen.get(found);
      if (other !== undefined) item.refuse(`is the second ${found} of this backend, after ${other}: put both into one`);
      seen.set(found, item.path);
      if (!conf.isGiven) conf.refuse(`must be given for a filter of type ${found}`);
      if (!conf.isGiven || !conf.isObject()) return [];
      return [modifierFilter(found, conf)];
    });
}

/** A filter that changes headers. @param conf its modifier */
export function modifierFilter(type: BackendFilterType, conf: Field): BackendFilter {
  const modifier = parseHeaderModifier(conf);
  return type === 'RequestHeaderModifier'
    ? { type, requestHeaderModifier: modifier }
    : { type, responseHeaderModifier: modifier };
}

const MAX_HEADERS = 16;

/** The modifier with lower-case header names: MeshHTTPRoute takes no others. */
function parseHeaderModifier(conf: Field): Modifier {
  conf.allowKeys(['set', 'add', 'remove']);
  const seen = new Map<string, string>();
  const note = (name: Field, text: string | undefined): string | undefined => {
    if (text === undefined) return undefined;
    const lower = text.toLowerCase();
    const other = seen.get(lower);
    seen.set(lower, name.path);
    return other === undefined ? lower : name.refuse(`${JSON.stringify(lower)} is modified by ${other} already: keep one`);
  };
  const lists: Modifier = {};
  for (const key of ['set', 'add'] as const) {
    const pairs = itemsOf(conf.at(key)).flatMap((item) => {
      if (!item.isGiven) item.refuse('must be an object with name and value');
      if (!item.isGiven || !item.isObject()) return [];
      item.allowKeys(['name', 'value']);
      const name = note(item.at('name'), item.at('name').requiredText(textForms.changedHeaderName));
      const value = item.at('value').requiredText(textForms.headerValue);
      return name === undefined || value === undefined ? [] : [{ name, value }];
    });
    if (pairs.length > 0) lists[key] = pairs;
  }
  const remove = itemsOf(conf.at('remove')).flatMap((item) => {
    const name = note(item, item.requiredText(textForms.changedHeaderName));
    return name === undefined ? [] : [name];
  });
  if (remove.length > 0) lists.remove = remove;
  const isEmpty = ['set', 'add', 'remove'].every((key) => !conf.at(key).isGiven || conf.at(key).isEmptyList);
  if (isEmpty) conf.refuse('must have set, add or remove: it would modify nothing');
  return lists;
}

function itemsOf(list: Field): Field[] {
  const items = list.items();
  if (items.length > MAX_HEADERS) list.refuse(`must have at most ${String(MAX_HEADERS)} items, not ${String(items.length)}`);
  return items;
}
