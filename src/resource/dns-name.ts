// DNS names, for the schemas and for the command line, which loads no schema when it starts. Pure.

const LABELS = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/;

/** A lower-case DNS name: RFC 1123 subdomain, at most 253 characters. */
export function isDnsName(value: string): boolean {
  return value.length <= 253 && LABELS.test(value);
}
