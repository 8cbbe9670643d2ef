// The formats of names, paths and values in Gateway API and Kubernetes, each with the description that a violation prints.
// Invariant: the checks of a MeshHTTPRoute accept every text of these formats.
import { CHANGED_HEADER_NAME, HEADER_VALUE_FORM, isHeaderValue } from '../schema/header-text.ts';
import { isParameterName } from '../schema/parameter-name.ts';
import { isRe2 } from '../schema/expressions/re2.ts';
import type { TextForm } from './field.ts';

const LABEL = '[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?';
const ONE_LINE = /^[^\0\r\n]+$/;
const REGULAR_EXPRESSION = {
  pattern: { test: (text: string) => ONE_LINE.test(text) && isRe2(text) },
  is: 'a regular expression in RE2 syntax, of at most 50000 characters with its repetitions written out, and no code above \\xff',
};
const SUBDOMAIN = new RegExp(`^${LABEL}(\\.${LABEL})*$`);

export const textForms = {
  name: { pattern: SUBDOMAIN, is: 'an RFC 1123 name (lower-case letters, digits, "-", ".")', max: 253 },
  namespace: { pattern: new RegExp(`^${LABEL}$`), is: 'an RFC 1123 label (lower-case letters, digits, "-")', max: 63 },
  /** `''` and `core` are the group of Service. */
  group: {
    pattern: new RegExp(`^(${LABEL}(\\.${LABEL})*)?$`),
    is: 'an API group (a DNS name), or left out for Service',
    max: 253,
  },
  kind: { pattern: /^[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?$/, is: 'a kind (letters, digits, "-")', max: 63 },
  /** A port's name, or the port as text. */
  section: { pattern: SUBDOMAIN, is: 'the name of a port', max: 253 },
  headerName: { pattern: /^[A-Za-z0-9!#$%&'*+\-.^_`|~]+$/, is: 'a header name (an HTTP token)', max: 256 },
  changedHeaderName: {
    pattern: CHANGED_HEADER_NAME,
    is: 'a header name (an HTTP token) and not host, which a URLRewrite changes',
    max: 256,
  },
  headerValue: { pattern: { test: isHeaderValue }, is: HEADER_VALUE_FORM, max: 4096 },
  value: { pattern: ONE_LINE, is: 'one line of text', max: 4096 },
  parameterName: {
    pattern: { test: (text: string) => ONE_LINE.test(text) && isParameterName(text) },
    is: 'one line of at most 1024 bytes',
    max: 1024,
  },
  /** Paths are absolute and normalized, as the paths that a proxy compares them with. */
  path: {
    pattern: /^(?!.*(\/\/|\/\.\.?(\/|$)|%2[fF]|#))\/.*$/,
    is: 'an absolute path ("/…") without "//", "/./", "/../", "%2f" and "#"',
    max: 1024,
  },
  pathExpression: { ...REGULAR_EXPRESSION, max: 1024 },
  valueExpression: { ...REGULAR_EXPRESSION, max: 4096 },
  replacement: { pattern: /^(\/[^\0\r\n]*)?$/, is: 'an absolute path ("/…")', max: 1024 },
  hostname: {
    pattern: new RegExp(`^(?!\\d+(\\.\\d+){3}$)${LABEL}(\\.${LABEL})*$`),
    is: 'a DNS name without wildcards, no IP address',
    max: 253,
  },
} as const satisfies Record<string, TextForm>;
