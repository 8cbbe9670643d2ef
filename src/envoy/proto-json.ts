// Pieces of Envoy's proto3 JSON that several resources share.
import { parseGoDuration } from '../base/duration.ts';
import type { Json, JsonObject } from '../resource/types.ts';

const TYPE = 'type.googleapis.com/envoy.';

/** An extension with its configuration: `{name, typedConfig: {"@type": …}}`. @param type without `envoy.` */
export function extension(name: string, type: string, config: JsonObject = {}): JsonObject {
  return { name, typedConfig: typed(type, config) };
}

/** A message inside an Any. @param type without `envoy.` */
export function typed(type: string, config: JsonObject = {}): JsonObject {
  return { '@type': TYPE + type, ...config };
}

export const FROM_ADS: JsonObject = { ads: {}, resourceApiVersion: 'V3' };

export function socketAddress(address: string, port: number): JsonObject {
  return { socketAddress: { address, portValue: port } };
}

/**
 * A duration of a policy as proto3 JSON: `15ms` → `0.015s`, `1h` → `3600s`.
 * @param fallback the result in proto3 JSON where the policy gives no duration, or one that cannot be read
 */
export function duration(given: Json | undefined, fallback: string): string {
  return optionalDuration(given) ?? fallback;
}

/** Converts as `duration` does; undefined without a duration. */
export function optionalDuration(given: Json | undefined): string | undefined {
  const milliseconds = typeof given === 'string' ? parseGoDuration(given) : null;
  if (milliseconds === null) return undefined;
  const nanoseconds = Math.round(milliseconds * 1e6);
  const [seconds, rest] = [Math.floor(nanoseconds / 1e9), nanoseconds % 1e9];
  if (rest === 0) return `${String(seconds)}s`;
  const digits = String(rest).padStart(9, '0');
  const places = digits.endsWith('000000') ? 3 : digits.endsWith('000') ? 6 : 9;
  return `${String(seconds)}.${digits.slice(0, places)}s`;
}

/** A number, or a decimal as text (`"62.5"`), which policies allow beside it; undefined for anything else. */
export function decimal(given: Json | undefined): number | undefined {
  const read = typeof given === 'number' ? given : typeof given === 'string' && given !== '' ? Number(given) : NaN;
  return Number.isFinite(read) ? read : undefined;
}

/** A share of requests: whole percents of a hundred, decimals of ten thousand (xds 3.2). */
export function percentage(given: Json | undefined): JsonObject {
  const percent = decimal(given) ?? 0;
  if (Number.isInteger(percent)) return { numerator: percent };
  return { numerator: Math.round(percent * 100), denominator: 'TEN_THOUSAND' };
}

/** The object without the keys whose value is undefined. */
export function given(object: Readonly<Record<string, Json | undefined>>): JsonObject {
  return Object.fromEntries(Object.entries(object).filter((entry): entry is [string, Json] => entry[1] !== undefined));
}

type HeaderPair = { readonly name?: Json; readonly value?: Json } | JsonObject;

/** `set` replaces a header, `add` appends to it. */
export function headerOptions(set: readonly HeaderPair[], add: readonly HeaderPair[]): JsonObject[] {
  const header = ({ name = '', value = '' }: HeaderPair): JsonObject => ({ header: { key: name, value } });
  return [...set.map((one) => ({ ...header(one), appendAction: 'OVERWRITE_IF_EXISTS_OR_ADD' })), ...add.map(header)];
}
