// The path of a value in a document as violations print it: `spec.to[0].targetRef.labels["kuma.io/zone"]`.

const PLAIN_KEY = /^[A-Za-z_$][A-Za-z0-9_$-]{0,63}$/;
const MAX_SHOWN = 60;

/** One step down: a key of an object or the index of a list item. */
export function child(path: string, step: PropertyKey): string {
  if (typeof step === 'number') return `${path}[${String(step)}]`;
  const key = String(step);
  return PLAIN_KEY.test(key) ? `${path}.${key}` : `${path}[${shown(key)}]`;
}

/** A given value in a sentence, quoted and cut to what a line can hold. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > MAX_SHOWN ? `${value.slice(0, MAX_SHOWN)}…` : value);
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object' && value !== null) return 'an object';
  return String(value);
}
