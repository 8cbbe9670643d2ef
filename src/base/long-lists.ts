// JSON with long lists of objects, read and written item by item: an item whose text was read before is the same object as then. Work on an
// item can so be done once for all versions of a document (per-object.ts). Invariants: `readJson` gives what `JSON.parse` gives, and
// `printJson` what `JSON.stringify` gives. Shared items are frozen.
import { LRUCache } from 'lru-cache';
import { readEdited, type ReadList, type ReadText } from './edited-json.ts';
import { longLists } from './find-long-lists.ts';

/** The smallest number of items of a list that is read item by item. */
export const MIN_ITEMS = 32;
/**
 * The length from which a text is read item by item, in characters. A Dataplane of a few hundred outbounds, of which a zone has
 * thousands, is shorter.
 */
export const MIN_TEXT = 32_768;
/** The limit of all remembered texts, in characters: four times the largest documents that a body may hold. */
const MAX_REMEMBERED = 4_200_000;
const MAX_RECENT = 8;
/** The number of levels of objects and lists above a long list that is written item by item. */
const MAX_LEVELS = 5;

/** The text in place of a list in the frame around it. */
const PLACE = '@long-list:';
const IS_PLACE = /^@long-list:(\d+)$/;

const items = new LRUCache<string, object>({ maxSize: MAX_REMEMBERED, sizeCalculation: (_item, text) => text.length });

/** Whole texts that were read last: several parts of the process read one row, and the next version of a document is nearly the same. */
let recent: ReadText[] = [];

/** Parses a text as `JSON.parse` does. The value of a long text is read-only. @throws SyntaxError */
export function readJson(text: string): unknown {
  if (text.length < MIN_TEXT) return JSON.parse(text);
  const known = recent.find((one) => one.text === text);
  if (known !== undefined) return known.value;
  const edited = readEdited(text, recent, { readAt: itemsAt, print: textOf });
  const read = edited?.read ?? readLong(text);
  if (!isObject(read.value)) return read.value;
  const others = recent.filter((one) => one !== edited?.base);
  recent = [{ ...read, text, value: frozen(read.value) }, ...others.slice(0, MAX_RECENT - 1)];
  while (recent.length > 1 && recent.reduce((sum, one) => sum + one.text.length, 0) > MAX_REMEMBERED) recent.pop();
  return read.value;
}

function readLong(text: string): { readonly value: unknown; readonly lists: readonly ReadList[] } {
  const lists = text.includes(PLACE) ? [] : longLists(text, MIN_ITEMS);
  if (lists.length === 0) return { value: JSON.parse(text), lists: [] };
  let frame = '';
  let from = 0;
  for (const [at, { start, end }] of lists.entries()) {
    frame += `${text.slice(from, start)}"${PLACE}${String(at)}"`;
    from = end + 1;
  }
  frame += text.slice(from);
  try {
    const read = lists.map(({ places }) => itemsAt(text, places));
    const value: unknown = JSON.parse(frame, (_key, member: unknown) => {
      const at = typeof member === 'string' ? IS_PLACE.exec(member)?.[1] : undefined;
      return at === undefined ? member : read[Number(at)];
    });
    const placed = lists.map(({ start, end, places }, at) => ({ start, end, places, items: read[at] ?? [], isPrinted: false }));
    return { value, lists: placed };
  } catch {
    // The error has the position in the whole text.
    return { value: JSON.parse(text), lists: [] };
  }
}

/** Prints a value that came from JSON as `JSON.stringify` does. Who reads the text later gets the same items. */
export function printJson(value: object): string {
  return hasLongList(value) ? print(value, MAX_LEVELS) : JSON.stringify(value);
}

/** Whether a document has a list that is long enough to be read item by item. */
export function hasLongList(value: unknown, levels = MAX_LEVELS): boolean {
  if (!isObject(value) || levels === 0) return false;
  if (Array.isArray(value)) return value.length >= MIN_ITEMS || value.some((item) => hasLongList(item, levels - 1));
  return Object.values(value).some((member) => hasLongList(member, levels - 1));
}

function print(value: unknown, levels: number): string {
  if (typeof value !== 'object' || value === null || levels === 0) return JSON.stringify(value);
  if (Array.isArray(value)) return printList(value, levels);
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${print(member, levels - 1)}`).join(',')}}`;
}

/** A long list that was read from a text as it is printed is cut from that text: the next version of a document has few new items. */
function printList(list: readonly unknown[], levels: number): string {
  const isLong = list.length >= MIN_ITEMS;
  const known = isLong ? readLast(list) : undefined;
  const read = known?.text.slice(known.list.start, known.list.end + 1);
  if (known?.list.isPrinted === true && read !== undefined) return read;
  const printOne = (item: unknown): string => (isLong && isObject(item) ? textOf(item) : print(item ?? null, levels - 1));
  const printed = `[${list.map(printOne).join(',')}]`;
  if (known !== undefined) known.list.isPrinted = printed === read;
  return printed;
}

/** A list with the text from which it was read; undefined for one that was not read last. */
function readLast(list: readonly unknown[]): { readonly text: string; readonly list: ReadList } | undefined {
  for (const { text, lists } of recent) {
    const found = lists.find(({ items: read }) => read === list);
    if (found !== undefined) return { text, list: found };
  }
  return undefined;
}

/** The texts of shared items. */
const texts = new WeakMap<object, string>();

/** Items of short texts, such as the outbounds of all Dataplanes of a zone, are not remembered: each collection would look at all of them. */
function textOf(item: object): string {
  const known = texts.get(item);
  if (known !== undefined) return known;
  const text = JSON.stringify(item);
  if (!isFrozen(item)) return text;
  texts.set(item, text);
  items.set(text, item);
  return text;
}

function itemsAt(text: string, places: readonly number[]): object[] {
  const list: object[] = [];
  for (let at = 0; at < places.length; at += 2) {
    const part = text.slice(places[at], (places[at + 1] ?? 0) + 1);
    let item = items.get(part);
    if (item === undefined) {
      item = frozen(JSON.parse(part) as object);
      // A part of a text keeps the whole text alive.
      items.set(Buffer.from(part).toString(), item);
    }
    list.push(item);
  }
  return list;
}

/** Freezes an object and all that it holds. */
function frozen<T extends object>(value: T): T {
  if (Object.isFrozen(value)) return value;
  for (const member of Object.values(value)) if (isObject(member)) frozen(member);
  return Object.freeze(value);
}

function isFrozen(value: object): boolean {
  return Object.isFrozen(value) && Object.values(value).every((member) => !isObject(member) || isFrozen(member));
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
