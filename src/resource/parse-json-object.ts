// JSON that a peer sent: bytes → object. Nesting is bounded before anything walks it.
import { isUtf8 } from 'node:buffer';
import { readJson } from '../base/long-lists.ts';
import type { JsonObject } from './types.ts';

/** Deeper JSON is refused, so that recursion over a spec cannot exhaust the stack. */
export const MAX_JSON_DEPTH = 100;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/**
 * Parses an object.
 * @param what names the part in errors
 * @throws Error when the bytes are no JSON object in UTF-8, or one nested too deeply
 */
export function parseJsonObject(what: string, bytes: Buffer): JsonObject {
  if (!isUtf8(bytes)) throw new Error(`${what} is not UTF-8`);
  if (depthOf(bytes) > MAX_JSON_DEPTH) throw new Error(`${what} is nested deeper than ${MAX_JSON_DEPTH}`);
  let value: unknown;
  try {
    value = readJson(bytes.toString('utf8'));
  } catch (error) {
    throw new Error(`${what} is not JSON: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error(`${what} must be a JSON object`);
  return value as JsonObject;
}

/** The deepest nesting of brackets outside of strings. */
function depthOf(bytes: Buffer): number {
  let depth = 0;
  let deepest = 0;
  let inString = false;
  for (let i = 0; i < bytes.length; i += 1) {
    const byte = bytes[i];
    if (inString) {
      if (byte === BACKSLASH) i += 1;
      else if (byte === QUOTE) inString = false;
    } else if (byte === QUOTE) inString = true;
    else if (byte === 0x7b || byte === 0x5b) deepest = Math.max(deepest, (depth += 1));
    else if (byte === 0x7d || byte === 0x5d) depth -= 1;
  }
  return deepest;
}
