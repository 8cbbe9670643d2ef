// The order of map keys on the wire: by UTF-8 bytes, as Go's deterministic marshalling has it (engine 19).

/** Compares two texts by their UTF-8 bytes. The order differs from `<` where surrogates meet U+E000 to U+FFFF. */
function compareUtf8(a: string, b: string): number {
  const shared = Math.min(a.length, b.length);
  for (let i = 0; i < shared; i += 1) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x !== y) return rank(x) - rank(y);
  }
  return a.length - b.length;
}

/** The keys of an object in that order. */
export function sortedKeys(object: Readonly<Record<string, unknown>>): string[] {
  return Object.keys(object).sort(compareUtf8);
}

/** Surrogates stand for characters above all of the basic plane. */
function rank(unit: number): number {
  if (unit < 0xd800) return unit;
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800;
}
