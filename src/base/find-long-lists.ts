// Finds lists of objects in a text of JSON, without reading it.

/** A list that holds objects alone. */
class List {
  readonly start: number;
  end = 0;
  /** The places of the first and the last character of each item. */
  readonly places: number[] = [];
  isRegular = true;
  #commas = 0;

  constructor(start: number) {
    this.start = start;
  }

  get size(): number {
    return this.places.length >> 1;
  }

  begin(at: number): void {
    if (this.#commas !== this.size) this.isRegular = false;
    this.places.push(at);
  }

  comma(): void {
    this.#commas += 1;
  }

  finish(at: number): void {
    this.end = at;
    if (this.#commas !== this.size - 1) this.isRegular = false;
  }
}

/**
 * The lists that hold at least `minItems` objects and nothing else, in the order of the text. A list inside another one does not
 * count. A text that is no JSON has none.
 */
export function longLists(text: string, minItems: number): List[] {
  const found: List[] = [];
  /** Null stands for an object. */
  const open: (List | null)[] = [];
  let inner: List | null = null;
  for (let at = 0; at < text.length; at += 1) {
    switch (text.charCodeAt(at)) {
      case 0x22: // "
        at = endOfText(text, at);
        if (inner !== null) inner.isRegular = false;
        break;
      case 0x7b: // {
        inner?.begin(at);
        open.push((inner = null));
        break;
      case 0x5b: // [
        if (inner !== null) inner.isRegular = false;
        open.push((inner = new List(at)));
        break;
      case 0x7d: // }
        if (open.pop() !== null) return [];
        inner = open.at(-1) ?? null;
        inner?.places.push(at);
        break;
      case 0x5d: {
        // ]
        const list = open.pop();
        if (list === null || list === undefined) return [];
        list.finish(at);
        inner = open.at(-1) ?? null;
        if (!list.isRegular || list.size < minItems) break;
        while ((found.at(-1)?.start ?? -1) > list.start) found.pop();
        found.push(list);
        break;
      }
      case 0x2c: // ,
        inner?.comma();
        break;
      case 0x20:
      case 0x0a:
      case 0x0d:
      case 0x09:
        break;
      default:
        if (inner !== null) inner.isRegular = false;
    }
  }
  return open.length === 0 ? found : [];
}

/** The index of the closing quote of the text at `start`. */
function endOfText(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); at !== -1; at = text.indexOf('"', at + 1)) {
    let backslashes = 0;
    while (text.charCodeAt(at - 1 - backslashes) === 0x5c) backslashes += 1;
    if (backslashes % 2 === 0) return at;
  }
  return text.length;
}
