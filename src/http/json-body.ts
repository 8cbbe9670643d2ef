// Parses the text of a caller as JSON. Invariants: nesting and the number of objects are bounded before parsing. Keys of prototypes are refused. No error
// repeats the text, which may be a secret.
import { isUtf8 } from 'node:buffer';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { FairQueue } from '../base/fair-queue.ts';
import { readJson } from '../base/long-lists.ts';
import { runSteps, type Steps } from '../base/steps.ts';
import { isStorable } from '../resource/storable-text.ts';
import { ApiError } from './error-body.ts';
import { MAX_BODY_BYTES } from './body-size.ts';
import { callerWork, type CallerWork } from './caller-work.ts';

/** The largest number of levels of objects and lists (D32). */
const MAX_DEPTH = 64;
/**
 * The largest number of objects and lists. A large body could have ten times as many, which take seconds and a gigabyte to parse.
 */
const MAX_CONTAINERS = 1_000_000;

/** The largest body that is parsed at once, in characters. */
const MAX_AT_ONCE = 128 * 1024;

/** Reads the bodies of every route as `parseJsonBody` does. There is no other content type. @param queue parses large bodies */
export function readJsonBodies(app: FastifyInstance, queue: FairQueue): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, async (request: FastifyRequest, bytes: Buffer) => {
    if (!isUtf8(bytes)) refuse('the body is not UTF-8');
    const text = bytes.toString();
    if (request.routeOptions.config.rawBody === true) return text;
    return text.length <= MAX_AT_ONCE ? parseJsonBody(text) : await parseInTurns(text, queue, callerWork(request));
  });
}

/**
 * @returns undefined for an empty body
 * @throws ApiError 400 `Bad Request`
 */
export function parseJsonBody(text: string): unknown {
  if (text.trim() === '') return undefined;
  runSteps(boundedParts(text, Infinity));
  return parsePart(text, 0, '');
}

/** Parses a list of documents in the turns of its caller: each document in a turn of its own. */
async function parseInTurns(text: string, queue: FairQueue, { caller, left }: CallerWork): Promise<unknown> {
  return await queue.run(caller, jsonSteps(text), left);
}

/** `parseJsonBody` in steps. @throws ApiError as it does, and 400 for a document that is larger than a body may be */
export function* jsonSteps(text: string): Steps<unknown> {
  // Documents are in a list, or in lists of an object.
  const depth = /^\ufeff?\s*\{/.test(text) ? 3 : 2;
  const parts = yield* boundedParts(text, depth);
  const pieces = parts.map(({ start }, index) => `${text.slice(parts[index - 1]?.end ?? 0, start)}{"part":${String(index)}}`);
  const outline = parsePart([...pieces, text.slice(parts.at(-1)?.end ?? 0)].join(''), null, '');
  return yield* filled(outline, depth, '', (index, place) => {
    const { start, end } = parts[index] ?? { start: 0, end: 0 };
    if (end - start > MAX_BODY_BYTES) refuse(`${place}: must have at most ${String(MAX_BODY_BYTES)} bytes`);
    return parsePart(text.slice(start, end), start, place);
  });
}

/** The outline of a body with its parts, which are the only containers at this depth. */
function* filled(
  value: unknown,
  depth: number,
  place: string,
  partAt: (index: number, place: string) => unknown,
): Steps<unknown> {
  if (typeof value !== 'object' || value === null) return value;
  if (depth === 1) {
    yield;
    return partAt((value as { part: number }).part, place);
  }
  if (Array.isArray(value)) {
    const items: unknown[] = [];
    for (const [index, item] of value.entries()) items.push(yield* filled(item, depth - 1, `${place}[${String(index)}]`, partAt));
    return items;
  }
  const entries: [string, unknown][] = [];
  for (const [key, item] of Object.entries(value))
    entries.push([key, yield* filled(item, depth - 1, place === '' ? key : `${place}.${key}`, partAt)]);
  return Object.fromEntries(entries);
}

/**
 * @param start the index of the part in the body, for errors; null if it is not known
 * @param place the place of the part in the body
 */
function parsePart(text: string, start: number | null, place: string): unknown {
  let value: unknown;
  try {
    value = readJson(text.startsWith('\ufeff') ? text.slice(1) : text);
  } catch (error) {
    const at = /position (\d+)/.exec(String(error))?.[1];
    const isKnown = start !== null && at !== undefined;
    refuse(isKnown ? `the body is not valid JSON at character ${String(start + Number(at))}` : 'the body is not valid JSON');
  }
  if (text.includes('__proto__') || text.includes('\\u') || text.includes('constructor')) requireHarmless(value, place);
  return value;
}

type Part = { readonly start: number; readonly end: number };

/**
 * Counts brackets outside strings, and finds the objects and lists at a depth, from 1.
 * @throws ApiError 400 for too deep nesting, 413 for too many objects and lists
 */
function* boundedParts(text: string, partDepth: number): Steps<Part[]> {
  const parts: Part[] = [];
  let start = 0;
  let depth = 0;
  let containers = 0;
  let pause = SCANNED_IN_A_STEP;
  for (let at = 0; at < text.length; at += 1) {
    if (at >= pause) {
      pause = at + SCANNED_IN_A_STEP;
      yield;
    }
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else if (code === 0x7b || code === 0x5b) {
      depth += 1;
      containers += 1;
      if (depth === partDepth) start = at;
      if (depth > MAX_DEPTH) refuse(`the body is nested deeper than ${String(MAX_DEPTH)} levels`);
    } else if (code === 0x7d || code === 0x5d) {
      if (depth === partDepth) parts.push({ start, end: at + 1 });
      depth -= 1;
    }
  }
  if (containers <= MAX_CONTAINERS) return parts;
  const detail = `the body has more than ${String(MAX_CONTAINERS)} objects and lists: send it in parts`;
  throw new ApiError('too_large', 'Payload too large', detail);
}

/** The number of characters that one step scans. */
const SCANNED_IN_A_STEP = 64 * 1024;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** The index of the closing quote of the string at `start`. */
function endOfString(text: string, start: number): number {
  let at = start;
  for (;;) {
    at = text.indexOf('"', at + 1);
    if (at === -1) return text.length;
    let backslashes = 0;
    while (text.charCodeAt(at - 1 - backslashes) === BACKSLASH) backslashes += 1;
    if (backslashes % 2 === 0) return at;
  }
}

/**
 * Requires that keys are not those of prototypes, and that every text can be stored. JSON without escapes has only storable text.
 * The checked depth bounds the recursion.
 * @param place the place of the value in the body, `spec.to[0].name`
 */
function requireHarmless(value: unknown, place: string): void {
  if (typeof value === 'string') requirePlain(value, place);
  if (typeof value !== 'object' || value === null) return;
  if (Object.hasOwn(value, '__proto__')) refuse('the key "__proto__" must not be used');
  const { constructor } = value as { constructor?: unknown };
  if (Object.hasOwn(value, 'constructor') && typeof constructor === 'object' && constructor !== null)
    if (Object.hasOwn(constructor, 'prototype')) refuse('the key "constructor.prototype" must not be used');
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) requireHarmless(item, `${place}[${String(index)}]`);
    return;
  }
  for (const [key, item] of Object.entries(value)) {
    requirePlain(key, place);
    requireHarmless(item, place === '' ? key : `${place}.${key}`);
  }
}

/** @throws ApiError 400 for a text that no database can hold */
function requirePlain(text: string, place: string): void {
  if (isStorable(text)) return;
  const reason = 'must have neither the character U+0000 nor half of a surrogate pair';
  throw new ApiError('bad_request', 'Bad Request', `${place === '' ? 'the body' : place}: ${reason}`, [{ field: place, reason }]);
}

function refuse(detail: string): never {
  throw new ApiError('bad_request', 'Bad Request', detail);
}
