// JSON with one space a level, in steps: a value with long lists takes many milliseconds to print. Invariant: the text is that of
// `JSON.stringify(value, null, 1)`.
import type { Steps } from './steps.ts';

/** A list or object is long from this number of members. One step prints this number. */
const MEMBERS = 32;
/** The number of levels in which a long list or object is looked for: below any value, and below an item of a long list. */
const LOOK = 8;
const LOOK_IN_ITEM = 5;

/** Whether a value has long lists or objects, so that it should be printed in steps. */
export function isLarge(value: unknown): boolean {
  return hasLong(value, LOOK);
}

/** The bytes of the text. @param end a text behind it */
export function* printSteps(value: unknown, end = ''): Steps<Buffer> {
  const parts: Buffer[] = [];
  for (const part of printParts(value)) {
    parts.push(Buffer.from(part));
    yield;
  }
  parts.push(Buffer.from(end));
  return Buffer.concat(parts);
}

/** The parts of the text, in their order; each is a step. */
export function* printParts(value: unknown): Generator<string, void> {
  if (isLarge(value)) yield* divided(value as object, 0);
  else yield JSON.stringify(value, null, 1);
}

/**
 * Prints a long list or object.
 * @param level the level of the value in the text
 */
function* divided(value: object, level: number): Generator<string, void> {
  const isList = Array.isArray(value);
  const members: [string, unknown][] = isList
    ? value.map((item: unknown) => ['', item])
    : Object.entries(value).filter(([, member]) => isPrinted(member));
  const look = members.length >= MEMBERS ? LOOK_IN_ITEM : LOOK;
  const space = `\n${' '.repeat(level + 1)}`;
  let before = isList ? '[' : '{';
  let small: [string, unknown][] = [];
  const smallText = function* (): Generator<string, void> {
    if (small.length === 0) return;
    yield before + space + membersText(small, isList, level);
    before = ',';
    small = [];
  };
  for (const [key, member] of members) {
    if (hasLong(member, look)) {
      yield* smallText();
      yield before + space + (isList ? '' : `${JSON.stringify(key)}: `);
      yield* divided(member as object, level + 1);
      before = ',';
    } else if (small.push([key, member]) >= MEMBERS) yield* smallText();
  }
  yield* smallText();
  yield `\n${' '.repeat(level)}${isList ? ']' : '}'}`;
}

/** Members as they stand in a list or object of a level, without its brackets. */
function membersText(members: readonly [string, unknown][], isList: boolean, level: number): string {
  let inner: unknown = isList ? members.map(([, item]) => item) : Object.fromEntries(members);
  for (let at = 0; at < level; at += 1) inner = [inner];
  const text = JSON.stringify(inner, null, 1);
  // Each level has a bracket, a line break and its spaces on both sides.
  let [head, tail] = [0, 0];
  for (let at = 0; at <= level; at += 1) [head, tail] = [head + at + 3, tail + at + 2];
  return text.slice(head, text.length - tail);
}

/** Whether JSON has this value. An object is printed without the members that JSON does not have. */
function isPrinted(value: unknown): boolean {
  return value !== undefined && typeof value !== 'function' && typeof value !== 'symbol';
}

function hasLong(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null || !isDivisible(value)) return false;
  const members: unknown[] = Array.isArray(value) ? value : Object.values(value);
  if (members.length >= MEMBERS) return true;
  if (levels > 0) for (const member of members) if (hasLong(member, levels - 1)) return true;
  return false;
}

function isDivisible(value: object): boolean {
  if (Array.isArray(value)) return true;
  const prototype: unknown = Object.getPrototypeOf(value);
  return (prototype === Object.prototype || prototype === null) && !('toJSON' in value);
}
