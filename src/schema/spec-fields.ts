// The scalar fields of specs as zod schemas, each with the sentence that names its allowed values. A stored default is the
// `.default(…)` of its field. A default that readers apply to an absent field is part of the description.
import { isIP } from 'node:net';
import { z } from 'zod';
import { parseGoDuration } from '../base/duration.ts';
import { isDnsName } from '../resource/dns-name.ts';
import { shown } from '../resource/spec-path.ts';
import { DURATION_FORMAT } from './spec-shape.ts';

export const INT32_MAX = 2_147_483_647;
export const UINT32_MAX = 4_294_967_295;
const INT64_MAX = Number.MAX_SAFE_INTEGER;

/** The type in which a Go control plane holds a whole number: it sets the range that it can decode. */
export type IntegerFormat = 'int32' | 'uint32' | 'int64';

const GO_DURATION = /^[+-]?(0|((\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h))+)$/;
const DECIMAL = /^\d{1,15}(\.\d{1,15})?$/;

type Sentence = { readonly error: (issue: { readonly input?: unknown }) => string };

/** «must be …», or «must be given: …» where nothing is. */
export function must(what: string): Sentence {
  return { error: (issue) => (issue.input === undefined ? `must be given: ${what}` : `must be ${what}`) };
}

/** Any text that is not empty. */
export function text(what = 'text that is not empty') {
  return z.string(must(what)).min(1, must(what));
}

/** Text without line breaks and zero characters: Envoy takes no others in these places. */
export function oneLine(least = 0) {
  return z
    .string(must('text'))
    .min(least, must('text that is not empty'))
    .regex(/^[^\0\n\r]*$/, must('text of one line'));
}

/** A text that fits a pattern. */
export function pattern(regex: RegExp, what: string) {
  return z.string(must(what)).regex(regex, must(what));
}

export function flag() {
  return z.boolean(must('true or false'));
}

/** A whole number within both bounds; `format` is the type of the field in Go. */
export function integer(min: number, max: number, format: IntegerFormat = 'int32') {
  const what = must(max === INT64_MAX ? `a whole number of at least ${min}` : `a whole number from ${min} to ${max}`);
  return z.int(what).min(min, what).max(max, what).meta({ format });
}

/** A whole number that the REST API of Kuma takes too: its schemas say int32, also where the field is wider. */
export const count = (min: number, format: IntegerFormat = 'uint32') => integer(min, INT32_MAX, format);

/** A whole number that is not negative, as far as JavaScript can count. */
export const bigCount = () => integer(0, INT64_MAX, 'int64');

export const port = (format: IntegerFormat = 'int32') => integer(1, 65_535, format);

export const SECTION_NAME = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;
export const SECTION_NAME_FORM =
  'an RFC 1123 label: lower-case letters, digits and hyphens, at most 63 characters, with a letter or digit at both ends';

/** The name of a port, an inbound or a listener. */
export const sectionName = () => pattern(SECTION_NAME, SECTION_NAME_FORM);

/** Path of a file that begins with a slash. */
export const absolutePath = () => pattern(/^\//, 'an absolute path: begin with "/"');

/** One of a few words. */
export function choice<const V extends readonly [string, ...string[]]>(...values: V) {
  const what = values.length === 1 ? values[0] : `one of ${values.join(', ')}`;
  return z.enum(values, {
    error: ({ input }) => (input === undefined ? `must be given: ${what}` : `must be ${what}, not ${shown(input)}`),
  });
}

/** Envoy counts nanoseconds in 64 bits. The rest of the last hour is left for what Envoy or the control plane adds. */
const MAX_DURATION = { ms: 2_562_047 * 3_600_000, text: '2562047h' };

/** A Go duration that is not negative, and with `above` greater than this number of milliseconds. */
export function duration(above?: { readonly ms: number; readonly text: string }) {
  const what = must(
    `a duration such as "10s" or "1m30s"${above === undefined ? ', not negative' : `, greater than ${above.text}`}`,
  );
  return z
    .string(what)
    .regex(GO_DURATION, what)
    .refine((given) => {
      const ms = parseGoDuration(given);
      return ms !== null && (above === undefined ? ms >= 0 : ms > above.ms);
    }, what)
    .refine((given) => (parseGoDuration(given) ?? 0) <= MAX_DURATION.ms, must(`a duration of at most ${MAX_DURATION.text}`))
    .meta({ format: DURATION_FORMAT });
}

export const positiveDuration = () => duration({ ms: 0, text: '0' });

/** A whole number, or a decimal as text (`"12.5"`), that `allows` takes; `range` says it in words. */
export function intOrDecimal(range: string, allows: (value: number) => boolean) {
  const what = must(`a whole number or a decimal in quotes such as "12.5", ${range}`);
  return z.union([z.int().max(INT32_MAX), z.string().regex(DECIMAL, what)], what).refine((given) => allows(Number(given)), what);
}

export const percentage = () => intOrDecimal('from 0 to 100', (value) => value >= 0 && value <= 100);

export function dnsName() {
  const what = must('a DNS name: lower-case letters, digits, hyphens and dots, at most 253 characters');
  return z.string(what).refine(isDnsName, what);
}

/** An IP address or a DNS name. */
export function address() {
  const what = must('an IP address or a DNS name');
  return z.string(what).refine((given) => isIP(given) !== 0 || isDnsName(given.toLowerCase()), what);
}

/**
 * A text `HOST:PORT` in the form that Kuma control planes take: an IP address or a lower-case DNS name whose last label, of
 * several, has letters alone; at least four characters.
 */
export function hostAndPort() {
  const what = must('a host and a port, such as "logs.example:5000"');
  return z.string(what).refine(isHostAndPort, what);
}

function isHostAndPort(value: string): boolean {
  const end = value.lastIndexOf(':');
  const host = value.slice(0, end);
  const portText = value.slice(end + 1);
  if (end < 0 || value.length < 4 || !/^[1-9]\d{0,4}$/.test(portText) || Number(portText) > 65_535) return false;
  if (host.startsWith('[')) return host.endsWith(']') && isIP(host.slice(1, -1)) === 6;
  return host !== '0.0.0.0' && (isIP(host) === 4 || (isDnsName(host) && (!host.includes('.') || /\.[a-z]+$/.test(host))));
}

/** A map of texts: labels, tags. */
export function textMap() {
  return z.record(z.string(), z.string(must('text')));
}

/** Part of a spec that is kept and not looked into. */
export function anything() {
  return z.record(z.string(), z.unknown());
}

/** Any JSON, kept and not looked into. */
export function json() {
  return z.unknown();
}

/** A part of a spec that Meridian stores and hands on. */
export const extension = () =>
  z
    .object({
      type: text().describe('Name of the extension.'),
      config: json().describe('Any JSON that the extension reads.').optional(),
    })
    .describe('For an extension of a Kuma control plane. Meridian keeps it, and does nothing with it.')
    .optional();

/** The switch of a part that is on when it is there. */
export const disabled = () => flag().describe('Switches the part off.').optional();
