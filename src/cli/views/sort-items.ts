// The order of `--sort-by FIELD`: the field as `-o json` prints it, or as kubectl writes it. Pure.
import { isObject } from '../../resource/read-json.ts';
import type { Item } from '../client/api-client.ts';
import { UsageError } from '../exit-codes.ts';

/** Numbers in texts count as numbers: web-2 is before web-10. */
const { compare } = new Intl.Collator('en', { numeric: true });

/**
 * The items in ascending order of a field. Items without the field come last, equal ones keep their order.
 * @param field keys joined by dots: `creationTime`, `spec.to.0.targetRef.name`, `labels.kuma.io/zone`
 * @throws UsageError if no item has the field, or if it is an object or a list
 */
export function sortedBy(items: readonly Item[], field: string): Item[] {
  const path = pathOf(field);
  const keyed = items.map((item) => ({ item, value: valueAt(item, path) }));
  if (items.length > 0 && keyed.every(({ value }) => value === undefined))
    throw new UsageError(`--sort-by: no resource has the field ${JSON.stringify(field)}; -o json shows the fields`);
  if (keyed.some(({ value }) => typeof value === 'object'))
    throw new UsageError(`--sort-by: ${JSON.stringify(field)} has other fields; name one of these`);
  return keyed.toSorted((a, b) => compareValues(a.value, b.value)).map(({ item }) => item);
}

/** `{.metadata.creationTimestamp}` of kubectl is `creationTime` here. */
function pathOf(field: string): string {
  const path = field.replace(/^\{(.*)\}$/, '$1').replace(/^\./, '');
  return path.replace(/^metadata\./, '').replace(/^creationTimestamp$/, 'creationTime');
}

/** The value of a path; null counts as none. A key with dots, such as a label, is found as the whole rest of the path. */
function valueAt(value: unknown, path: string): unknown {
  if (!isObject(value) && !Array.isArray(value)) return undefined;
  const members: Readonly<Record<string, unknown>> = isObject(value) ? value : Object.fromEntries(value.entries());
  if (Object.hasOwn(members, path)) return members[path] ?? undefined;
  const at = path.indexOf('.');
  const key = path.slice(0, Math.max(0, at));
  return Object.hasOwn(members, key) ? valueAt(members[key], path.slice(at + 1)) : undefined;
}

function compareValues(a: unknown, b: unknown): number {
  if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined);
  return typeof a === 'number' && typeof b === 'number' ? a - b : compare(String(a), String(b));
}
