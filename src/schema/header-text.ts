// The names and values of changed headers that Envoy takes. The schemas of policies and Gateway API routes use them. Pure.
import { FORMAT_FORM, isEnvoyFormat } from './expressions/envoy-format.ts';

/** Envoy lets no one change the header `host`. */
export const CHANGED_HEADER_NAME = /^(?!host$)[A-Za-z0-9!#$%&'*+\-.^_`|~]{1,256}$/i;
// oxlint-disable-next-line no-control-regex -- a header has none of them
const CONTROL = /[\0-\x08\n-\x1f\x7f]/;

/** The largest number of bytes of a header value that Envoy takes. */
const MAX_VALUE = 16_384;

/** The text that `isHeaderValue` allows, in words for errors. */
export const HEADER_VALUE_FORM = `text of one line; ${FORMAT_FORM}; at most ${String(MAX_VALUE)} bytes`;

/** Whether a text has one line, in which a % begins a command of Envoy's. */
export function isHeaderValue(text: string): boolean {
  return !CONTROL.test(text) && Buffer.byteLength(text) <= MAX_VALUE && isEnvoyFormat(text);
}
