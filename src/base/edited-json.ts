// Reads a text of JSON that differs from one that was read before inside one of its long lists: the next version of a document. Only what
// differs is looked at. Invariant: the value is what `JSON.parse` gives, because before and behind the difference both texts are the same,
// and a reader comes to the same state there.
import { longLists } from './find-long-lists.ts';

/**
 * A list of objects in a text.
 * @property places of the first and the last character of each item
 * @property isPrinted the text has the list as it is printed; false: that is not known
 */
export type ReadList = {
  readonly start: number;
  readonly end: number;
  readonly places: readonly number[];
  readonly items: readonly object[];
  isPrinted: boolean;
};
export type ReadText = { readonly text: string; readonly value: object; readonly lists: readonly ReadList[] };
type Read = Omit<ReadText, 'text'>;

/**
 * Items of lists.
 * @property readAt reads the items at these places of a text.
 * @throws SyntaxError
 * @property print writes one item
 */
type ItemTexts = {
  readonly readAt: (text: string, places: readonly number[]) => object[];
  readonly print: (item: object) => string;
};

/** A list of one object is found too. */
const MIN_ITEMS = 1;
/** The largest part of a text that may differ. In a text that differs in more, all items are looked up. */
const MAX_SHARE = 0.25;
/** The number of levels of objects and lists above a long list. */
const MAX_LEVELS = 8;

/**
 * Reads a text that differs from a known one in one list.
 * @param known texts that were read before
 * @returns the value, and the known text as `base`; null where no known text differs in this way
 */
export function readEdited(
  text: string,
  known: readonly ReadText[],
  itemTexts: ItemTexts,
): { readonly base: ReadText; readonly read: Read } | null {
  for (const base of known) {
    if (Math.abs(text.length - base.text.length) > MAX_SHARE * text.length) continue;
    const prefix = commonStart(base.text, text);
    const suffix = commonEnd(base.text, text, prefix);
    const differs = text.length - prefix - suffix;
    const at = base.lists.findIndex(({ start, end }) => start < prefix && end >= base.text.length - suffix);
    const list = base.lists[at];
    if (list === undefined || differs > MAX_SHARE * text.length) continue;
    const edited = editedList(list, base.text, text, { prefix, suffix }, itemTexts);
    if (edited === null) continue;
    const value = withList(base.value, list.items, edited.items, MAX_LEVELS);
    if (value === null) continue;
    const delta = text.length - base.text.length;
    const lists = base.lists.map((one, index) => (index < at ? one : index === at ? edited : moved(one, delta)));
    return { base, read: { value, lists } };
  }
  return null;
}

/** The list in the other text; null where that is no list of objects. */
function editedList(
  { start, end, places, items, isPrinted }: ReadList,
  before: string,
  text: string,
  { prefix, suffix }: { readonly prefix: number; readonly suffix: number },
  itemTexts: ItemTexts,
): ReadList | null {
  const delta = text.length - before.length;
  let first = 0;
  while (first < items.length && (places[2 * first + 1] ?? 0) < prefix) first += 1;
  let last = items.length;
  while (last > first && (places[2 * last - 2] ?? 0) >= before.length - suffix) last -= 1;
  const from = first === 0 ? start + 1 : (places[2 * first - 1] ?? 0) + 1;
  const to = (last === items.length ? end : (places[2 * last] ?? 0)) + delta;
  const part = text.slice(from, to);
  const between = itemsBetween(part, first > 0, last < items.length);
  if (between === null) return null;
  const [found] = between.text === '' ? [] : longLists(`[${between.text}]`, MIN_ITEMS);
  if (between.text !== '' && (found?.start !== 0 || found.end !== between.text.length + 1)) return null;
  // The bracket of the list stands before its text.
  const inText = (found?.places ?? []).map((place) => from + between.offset + place - 1);
  try {
    const read = itemTexts.readAt(text, inText);
    return {
      start,
      end: end + delta,
      places: places.slice(0, 2 * first).concat(inText, movedPlaces(places.slice(2 * last), delta)),
      items: Object.freeze(items.slice(0, first).concat(read, items.slice(last))),
      isPrinted: isPrinted && part === printedBetween(read.map(itemTexts.print), first > 0, last < items.length),
    };
  } catch {
    return null;
  }
}

/** The items without the commas around them; null where the commas are not as they must be. @property offset of the text in the part */
function itemsBetween(
  part: string,
  isBehind: boolean,
  isBefore: boolean,
): { readonly text: string; readonly offset: number } | null {
  const start = part.length - part.trimStart().length;
  let inner = part.trim();
  if (inner === '') return isBehind && isBefore ? null : { text: '', offset: 0 };
  if (isBehind && isBefore && inner === ',') return { text: '', offset: 0 };
  if (isBehind) {
    if (!inner.startsWith(',')) return null;
    inner = inner.slice(1);
  }
  if (isBefore) {
    if (!inner.endsWith(',')) return null;
    inner = inner.slice(0, -1);
  }
  return inner.trim() === '' ? null : { text: inner, offset: start + (isBehind ? 1 : 0) };
}

/** Items as they are printed, with the commas to those around them. */
function printedBetween(texts: readonly string[], isBehind: boolean, isBefore: boolean): string {
  if (texts.length === 0) return isBehind && isBefore ? ',' : '';
  return `${isBehind ? ',' : ''}${texts.join(',')}${isBefore ? ',' : ''}`;
}

/** A copy of a value with another list in place of one; null where it is not found. */
function withList<T>(value: T, list: readonly object[], other: readonly object[], levels: number): T | null {
  if ((value as unknown) === list) return other as T;
  if (typeof value !== 'object' || value === null || levels === 0) return null;
  for (const [key, member] of Object.entries(value) as [string, unknown][]) {
    const edited = withList(member, list, other, levels - 1);
    if (edited === null) continue;
    const copy = (Array.isArray(value) ? [...value] : { ...value }) as Record<string, unknown>;
    copy[key] = edited;
    return Object.freeze(copy) as T;
  }
  return null;
}

function moved({ start, end, places, ...list }: ReadList, by: number): ReadList {
  return { ...list, start: start + by, end: end + by, places: movedPlaces(places, by) };
}

function movedPlaces(places: readonly number[], by: number): readonly number[] {
  return by === 0 ? places : places.map((place) => place + by);
}

/**
 * The number of characters that both texts begin with. Parts of the texts are compared as a whole, which is much faster than one
 * character after the other.
 */
function commonStart(one: string, other: string): number {
  let low = 0;
  let high = Math.min(one.length, other.length);
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (one.slice(low, middle) === other.slice(low, middle)) low = middle;
    else high = middle - 1;
  }
  return low;
}

/**
 * The number of characters that both texts end with.
 * @param start characters that belong to the common start
 */
function commonEnd(one: string, other: string, start: number): number {
  let low = 0;
  let high = Math.min(one.length, other.length) - start;
  const part = (text: string, from: number, to: number): string => text.slice(text.length - to, text.length - from);
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (part(one, low, middle) === part(other, low, middle)) low = middle;
    else high = middle - 1;
  }
  return low;
}
