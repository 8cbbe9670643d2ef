// Keys of a protobuf spec that its message does not have: decoding drops them silently, and the CLI refuses them (D7). Compares the
// written document with the decoded one. Pure.
import type { Json, JsonObject } from '../../resource/types.ts';
import { isObject, objectOf } from '../../resource/read-json.ts';
import { memberPath } from '../../document/position.ts';

type Step = string | number;
type Dropped = { readonly steps: readonly Step[]; readonly value: Json };

/**
 * Paths of dropped keys. A key of the message whose value is zero is dropped too, because proto3 JSON omits it, and a snake_case key is
 * renamed: these do not count.
 * @param decode the spec as its message has it
 * @throws as `decode` does
 */
export function droppedKeys(spec: JsonObject, decode: (spec: JsonObject) => JsonObject): string[] {
  const known = new Map<string, boolean>();
  const isKnown = ({ steps, value }: Dropped): boolean => {
    const key = steps.filter((step) => typeof step === 'string').join('\n');
    const found = known.get(key) ?? isField(spec, { steps, value }, decode);
    known.set(key, found);
    return found;
  };
  return [...dropped(spec, decode(spec), [])]
    .filter((one) => !isZero(one.value) || !isKnown(one))
    .map(({ steps }) => steps.reduce<string>(memberPath, ''));
}

function* dropped(written: Json, read: Json, steps: readonly Step[]): Generator<Dropped> {
  if (Array.isArray(written)) {
    for (const [index, item] of written.entries()) {
      const kept = Array.isArray(read) ? (read[index] ?? null) : null;
      if (kept !== null) yield* dropped(item, kept, [...steps, index]);
    }
  } else if (isObject(written) && isObject(read))
    for (const [key, value] of Object.entries(written)) {
      const kept = memberOf(read, key);
      if (kept === undefined) yield { steps: [...steps, key], value };
      else yield* dropped(value, kept, [...steps, key]);
    }
}

/** Whether the message has a field that was written with a zero value: with another value it is kept, or refused. */
function isField(spec: JsonObject, { steps, value }: Dropped, decode: (spec: JsonObject) => JsonObject): boolean {
  const probed = structuredClone(spec) as Json;
  const [key = '', ...above] = steps.toReversed();
  const holder = above.toReversed().reduce<Json | undefined>(memberOf, probed);
  if (!isObject(holder)) return true;
  (holder as Record<string, Json>)[String(key)] = otherValue(value);
  try {
    return steps.reduce<Json | undefined>(memberOf, decode(probed as JsonObject)) !== undefined;
  } catch {
    return true;
  }
}

function otherValue(zero: Json): Json {
  if (zero === false) return true;
  if (zero === 0) return 1;
  if (Array.isArray(zero)) return [{}];
  return isObject(zero) ? { x: 'x' } : 'x';
}

function memberOf(holder: Json | undefined, step: Step): Json | undefined {
  if (typeof step === 'number') return Array.isArray(holder) ? holder[step] : undefined;
  const object = objectOf(holder ?? null);
  return object[step] ?? object[camelCase(step)];
}

function camelCase(key: string): string {
  return key.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

/** First values of the enums of Dataplanes and zones. */
const ENUM_ZEROS = new Set(['Ready', 'DELEGATED', 'UnSpecified', 'Unspecified']);

/** A value that proto3 JSON may omit. */
function isZero(value: Json): boolean {
  if (typeof value === 'string' && ENUM_ZEROS.has(value)) return true;
  if (Array.isArray(value)) return value.length === 0;
  if (isObject(value)) return Object.values(value).every(isZero);
  return value === null || value === false || value === 0 || value === '' || value === '0';
}
