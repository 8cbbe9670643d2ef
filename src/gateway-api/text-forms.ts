// The formats of names and paths in Gateway API and Kubernetes, each with the description that a violation prints.

type TextForm = { readonly pattern: RegExp; readonly is: string; readonly max: number };

const LABEL = '[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?';
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
  value: { pattern: /^[^\0\r\n]+$/, is: 'one line of text', max: 4096 },
  /** Paths are absolute and normalized, as the paths that a proxy compares them with. */
  path: {
    pattern: /^\/(?!.*(\/\/|\/\.\.?(\/|$)|%2[fF]|#)).*$/,
    is: 'an absolute path ("/…") without "//", "/./", "/../", "%2f" and "#"',
    max: 1024,
  },
  regularExpression: { pattern: /^[^\0\r\n]+$/, is: 'a regular expression', max: 1024 },
  replacement: { pattern: /^(\/[^\0\r\n]*)?$/, is: 'an absolute path ("/…")', max: 1024 },
  hostname: {
    pattern: new RegExp(`^(?!\\d+(\\.\\d+){3}$)${LABEL}(\\.${LABEL})*$`),
    is: 'a DNS name without wildcards, no IP address',
    max: 253,
  },
} as const satisfies Record<string, TextForm>;
