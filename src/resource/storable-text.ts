// Text that PostgreSQL can store has no NUL and no lone surrogates. One such character in a name, a label or a status fails the
// whole statement, so text is checked before (Kuma issue 11062).

export function isStorable(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed();
}

/** Whether every key and every string of a JSON value is storable. It is recursive, for values of bounded depth. */
export function isStorableJson(value: unknown): boolean {
  if (typeof value === 'string') return isStorable(value);
  if (typeof value !== 'object' || value === null) return true;
  if (Array.isArray(value)) return value.every(isStorableJson);
  return Object.entries(value).every(([key, inner]) => isStorable(key) && isStorableJson(inner));
}

/** The storable part of the first `most` UTF-16 units of an untrusted text. */
export function storablePart(text: string, most: number): string {
  return text.slice(0, most).toWellFormed().replaceAll('\0', '');
}
