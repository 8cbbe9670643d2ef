// JSON with long lists of objects, read and written item by item: an item whose text was read before is the same object as then. Work on an
// item can so be done once for all versions of a document (per-object.ts). Invariants: `readJson` gives what `JSON.parse` gives, and
// `printJson` what `JSON.stringify` gives. Shared items are frozen.
import { LRUCache } from 'lru-cache';
import { perObject } from './per-object.ts';

/** Items of a list that is read item by item. */
export const MIN_ITEMS = 32;
/** Characters of a text that is read in one go. */
const MIN_TEXT = 8_000;
/** Characters of all texts that are remembered: the largest documents that a body may hold, four times. */
const MAX_REMEMBERED = 4_200_000;
const MAX_RECENT = 4;
/** Levels of objects and lists above a long list that is written item by item. */
const MAX_LEVELS = 5;

/** What stands in place of a list in the frame around it. */
const PLACE = '@long-list:';
const IS_PLACE = /^@long-list:(\d+)$/;

const items = new LRUCache<string, object>({ maxSize: MAX_REMEMBERED, sizeCalculation: (_item, text) => text.length });

/** A list of objects alone. */
class List {
  readonly start: number;
  end = 0;
  /** Of the first and the last character of each item. */
  readonly places: number[] = [];
  isRegular = true;
  #commas = 0;

  constructor(start: number) {
    this.start = start;
  }

  get size(): number {
    return this.places.length >> 1;
  }

  begin(at: number): void {
    if (this.#commas !== this.size) this.isRegular = false;
    this.places.push(at);
  }

  comma(): void {
    this.#commas += 1;
  }

  finish(at: number): void {
    this.end = at;
    if (this.#commas !== this.size - 1) this.isRegular = false;
  }
}

/** Whole texts that were read last: several parts of the process read one row. */
const recent: { readonly text: string; readonly value: object }[] = [];

/** As `JSON.parse`. What it gives for a long text is read-only. @throws SyntaxError */
export function readJson(text: string): unknown {
  if (text.length < MIN_TEXT) return JSON.parse(text);
  const known = recent.find((one) => one.text === text);
  if (known !== undefined) return known.value;
  const value = readLong(text);
  if (!isObject(value)) return value;
  recent.unshift({ text, value: frozen(value) });
  recent.length = Math.min(recent.length, MAX_RECENT);
  return value;
}

function readLong(text: string): unknown {
  const lists = text.includes(PLACE) ? [] : longLists(text);
  if (lists.length === 0) return JSON.parse(text);
  let frame = '';
  let from = 0;
  for (const [at, { start, end }] of lists.entries()) {
    frame += `${text.slice(from, start)}"${PLACE}${String(at)}"`;
    from = end + 1;
  }
  frame += text.slice(from);
  try {
    const read = lists.map(({ places }) => itemsAt(text, places));
    return JSON.parse(frame, (_key, value: unknown) => {
      const at = typeof value === 'string' ? IS_PLACE.exec(value)?.[1] : undefined;
      return at === undefined ? value : read[Number(at)];
    });
  } catch {
    // The error has the position in the whole text.
    return JSON.parse(text);
  }
}

/** As `JSON.stringify`, of a value that came from JSON. What it writes is read as the same items. */
export function printJson(value: object): string {
  return print(value, MAX_LEVELS);
}

function print(value: unknown, levels: number): string {
  if (typeof value !== 'object' || value === null || levels === 0) return JSON.stringify(value);
  if (Array.isArray(value)) {
    const isLong = value.length >= MIN_ITEMS;
    return `[${value.map((item: unknown) => (isLong && isObject(item) ? textOf(item) : print(item ?? null, levels - 1))).join(',')}]`;
  }
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${print(member, levels - 1)}`).join(',')}}`;
}

const textOf = perObject((item: object): string => {
  const text = JSON.stringify(item);
  if (isFrozen(item)) items.set(text, item);
  return text;
});

/** The long lists that are in no other one, in their order. None for a text that is no JSON. */
function longLists(text: string): List[] {
  const found: List[] = [];
  /** Null: an object. */
  const open: (List | null)[] = [];
  let inner: List | null = null;
  for (let at = 0; at < text.length; at += 1) {
    switch (text.charCodeAt(at)) {
      case 0x22: // "
        at = endOfText(text, at);
        if (inner !== null) inner.isRegular = false;
        break;
      case 0x7b: // {
        inner?.begin(at);
        open.push((inner = null));
        break;
      case 0x5b: // [
        if (inner !== null) inner.isRegular = false;
        open.push((inner = new List(at)));
        break;
      case 0x7d: // }
        if (open.pop() !== null) return [];
        inner = open.at(-1) ?? null;
        inner?.places.push(at);
        break;
      case 0x5d: {
        // ]
        const list = open.pop();
        if (list === null || list === undefined) return [];
        list.finish(at);
        inner = open.at(-1) ?? null;
        if (!list.isRegular || list.size < MIN_ITEMS) break;
        while ((found.at(-1)?.start ?? -1) > list.start) found.pop();
        found.push(list);
        break;
      }
      case 0x2c: // ,
        inner?.comma();
        break;
      case 0x20:
      case 0x0a:
      case 0x0d:
      case 0x09:
        break;
      default:
        if (inner !== null) inner.isRegular = false;
    }
  }
  return open.length === 0 ? found : [];
}

/** The index of the closing quote of the text at `start`. */
function endOfText(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); at !== -1; at = text.indexOf('"', at + 1)) {
    let backslashes = 0;
    while (text.charCodeAt(at - 1 - backslashes) === 0x5c) backslashes += 1;
    if (backslashes % 2 === 0) return at;
  }
  return text.length;
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

/** With all that it holds. */
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
