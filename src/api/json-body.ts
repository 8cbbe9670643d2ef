// Parses the text of a caller as JSON. Invariants: nesting and the number of objects are bounded before parsing. Keys of prototypes are refused. No error
// repeats the text, which may be a secret.
import { isUtf8 } from 'node:buffer';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { isStorable } from '../resource/storable-text.ts';
import { ApiError } from './error-body.ts';

/** Levels of objects and lists (D32). */
export const MAX_DEPTH = 64;
/** Objects and lists. The largest body could have ten times as many, which take seconds and a gigabyte to parse. */
const MAX_CONTAINERS = 1_000_000;

/** Reads the bodies of every route with `parseJsonBody`. There is no other content type. */
export function readJsonBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, async (request: FastifyRequest, bytes: Buffer) => {
    if (!isUtf8(bytes)) refuse('the body is not UTF-8');
    const text = bytes.toString();
    return request.routeOptions.config.rawBody === true ? text : parseJsonBody(text);
  });
}

/**
 * @returns undefined for an empty body
 * @throws ApiError 400 `Bad Request`
 */
export function parseJsonBody(text: string): unknown {
  if (text.trim() === '') return undefined;
  requireBounded(text);
  let value: unknown;
  try {
    value = JSON.parse(text.startsWith('\ufeff') ? text.slice(1) : text);
  } catch (error) {
    const at = /position (\d+)/.exec(String(error))?.[1];
    refuse(at === undefined ? 'the body is not valid JSON' : `the body is not valid JSON at character ${at}`);
  }
  if (text.includes('__proto__') || text.includes('\\u') || text.includes('constructor')) requireHarmless(value, '');
  return value;
}

/** Counts brackets outside strings. @throws ApiError 400 for too deep nesting, 413 for too many objects and lists */
function requireBounded(text: string): void {
  let depth = 0;
  let containers = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else if (code === 0x7b || code === 0x5b) {
      depth += 1;
      containers += 1;
      if (depth > MAX_DEPTH) refuse(`the body is nested deeper than ${String(MAX_DEPTH)} levels`);
    } else if (code === 0x7d || code === 0x5d) depth -= 1;
  }
  if (containers <= MAX_CONTAINERS) return;
  const detail = `the body has more than ${String(MAX_CONTAINERS)} objects and lists: send it in parts`;
  throw new ApiError('too_large', 'Payload too large', detail);
}

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
 * Requires that keys are not those of prototypes, and that every text can be stored. JSON without escapes has only storable text. The
 * checked depth bounds the recursion.
 * @param place of the value in the body, `spec.to[0].name`
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
