// A list in parts, each of which fits a question to the other replicas: a notification of PostgreSQL holds 8,000 bytes. Pure.

/** The limit of the JSON of the items of one part, in bytes. In base64, with the rest of its question, it stays below that. */
const MAX_BYTES = 4_000;

/** Divides a list into parts. @param most the number of items of a part */
export function questionParts<T>(items: readonly T[], most: number): T[][] {
  const parts: T[][] = [];
  let bytes = Infinity;
  for (const item of items) {
    const size = Buffer.byteLength(JSON.stringify(item)) + 1;
    if (bytes + size > MAX_BYTES || parts.at(-1)?.length === most) {
      parts.push([]);
      bytes = 0;
    }
    parts.at(-1)?.push(item);
    bytes += size;
  }
  return parts;
}
