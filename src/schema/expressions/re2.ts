// Regular expressions in RE2 syntax, as Envoy 1.40 reads them: each byte of the UTF-8 text is one character. The text is read once and
// never compiled, so that a check takes time in proportion to its length, whatever its repetitions multiply (xds 3.3). Pure.
import { UNICODE_CLASSES } from './re2-classes.ts';

const MAX_LENGTH = 4_096;
const MAX_DEPTH = 1_000;
/** The largest number of copies by one repetition, and by nested ones together, that RE2 takes. */
const MAX_COPIES = 1_000;
/** The largest number of parts with all repetitions written out; RE2 refuses an expression that compiles to more than 8 MB. */
const MAX_SIZE = 50_000;
const MAX_CODE = 0xff;

/** The limit for `matches()` of CEL, where Envoy's RE2 reads UTF-8 and takes a program of 100 instructions. */
const MAX_SHORT_SIZE = 80;
/** The number of parts of a class that has characters above ASCII, in UTF-8. */
const WIDE_CLASS_SIZE = 12;
/** The number of parts of a letter whatever its case: two have another case above ASCII. */
const ANY_CASE_SIZE = 5;

/** The expressions that are allowed, in words for errors. */
export const RE2_FORM =
  'a regular expression in RE2 syntax, of at most 4096 characters, 50000 with its repetitions written out, and no code above \\xff';

const GROUP = /\((?:\?(?:P?<(?<name>[A-Za-z0-9_]+)>|[imsU]*(?:-[imsU]+)?(?<end>[:)]))|(?!\?))/y;
const REPETITION = /(?:[*+?]|\{(?<least>0|[1-9]\d*)(?<comma>,(?<most>0|[1-9]\d*)?)?\})\??/y;
const QUOTED = /\\Q([^]*?)(?:\\E|$)/y;
const UNICODE_CLASS = /\\[pP](?:\{\^?([A-Za-z_]+)\}|([A-Z]))/y;
const PERL_CLASS = /\\[dDsSwW]/y;
const POSITION = /\\[AbBz]/y;
const CODE = /\\(?:x(?:\{([\da-fA-F]+)\}|([\da-fA-F]{2}))|(0[0-7]{0,2}|[1-7][0-7]{1,2})|[afnrtv]|[^\dA-Za-z\x80-\xff])/y;
const POSIX_CLASS = /\[:\^?(?:alnum|alpha|ascii|blank|cntrl|digit|graph|lower|print|punct|space|upper|word|xdigit):\]/y;
const UNKNOWN_POSIX_CLASS = /\[:[^]*?:\]/y;
const C_ESCAPES: Readonly<Record<string, number>> = { a: 7, t: 9, n: 10, v: 11, f: 12, r: 13 };
/** The number of parts of a class by name, which has several ranges. */
const NAMED_CLASS_SIZE = 16;

/** Whether a text is a regular expression in RE2 syntax, within the bounds of `RE2_FORM`. */
export function isRe2(text: string): boolean {
  if (text.length > MAX_LENGTH) return false;
  const size = new Reader(Buffer.from(text).toString('latin1')).size();
  return size !== null && size <= MAX_SIZE;
}

/**
 * Whether a text is a regular expression in RE2 syntax, in ASCII, that compiles to at most 100 instructions in UTF-8. It has no
 * characters by their codes, no Unicode classes and no quoted parts.
 */
export function isShortRe2(text: string): boolean {
  if (text.length > MAX_LENGTH || !/^[\x20-\x7e]*$/.test(text) || /\\[\dCpPQx]/.test(text)) return false;
  const size = new Reader(text, WIDE_CLASS_SIZE).size();
  return size !== null && size * (/\(\?[A-Za-z]*i/.test(text) ? ANY_CASE_SIZE : 1) <= MAX_SHORT_SIZE;
}

/** The number of parts, and of the copies that nested repetitions make of one of them. */
type Part = { size: number; copies: number };

/** Reads an expression once, from its beginning to its end or its first fault. */
class Reader {
  readonly #text: string;
  readonly #wide: number;
  /** Behind it no class of POSIX ends, so that a search for its end is not repeated. */
  readonly #posixEnd: number;
  readonly #names = new Set<string>();
  /** The open groups, the innermost last; the first is the whole expression. */
  readonly #groups: Part[] = [{ size: 0, copies: 1 }];
  #at = 0;
  /** The part that a repetition would repeat. */
  #last: Part | null = null;
  #isRepeated = false;

  /** @param wide the number of parts of a class with all but a few characters */
  constructor(text: string, wide = 1) {
    this.#text = text;
    this.#wide = wide;
    this.#posixEnd = text.lastIndexOf(':]');
  }

  /** Returns null for a text that is no expression. */
  size(): number | null {
    while (this.#at < this.#text.length) if (!this.#part()) return null;
    return this.#groups.length === 1 ? this.#group.size : null;
  }

  get #group(): Part {
    const group = this.#groups.at(-1);
    if (group === undefined) throw new Error('an expression has its outermost group');
    return group;
  }

  #part(): boolean {
    const repetition = this.#take(REPETITION);
    if (repetition !== null) return this.#repeat(repetition.groups ?? {});
    this.#isRepeated = false;
    switch (this.#text[this.#at]) {
      case '(':
        return this.#open();
      case ')':
        return this.#close();
      case '|':
        this.#add({ size: 1, copies: 1 });
        this.#last = null;
        break;
      case '[':
        return this.#class();
      case '\\':
        return this.#escape();
      case '.':
        this.#add({ size: this.#wide, copies: 1 });
        break;
      default:
        this.#add({ size: 1, copies: 1 });
    }
    this.#at += 1;
    return true;
  }

  #repeat({ least, comma, most }: Readonly<Record<string, string | undefined>>): boolean {
    const last = this.#last;
    if (last === null || this.#isRepeated) return false;
    this.#isRepeated = true;
    const [from, to] = [Number(least ?? 1), Number(most ?? least ?? 1)];
    if (from > MAX_COPIES || to > MAX_COPIES || (comma !== undefined && from > to)) return false;
    const copies = Math.max(1, to);
    // Counted in instructions, each copy may be an optional one.
    const own = this.#wide === 1 ? 1 : copies;
    this.#group.size += last.size * (copies - 1) + own;
    this.#last = { size: last.size * copies + own, copies: last.copies * copies };
    this.#group.copies = Math.max(this.#group.copies, this.#last.copies);
    return this.#last.copies <= MAX_COPIES;
  }

  #open(): boolean {
    const found = this.#take(GROUP);
    if (found === null) return false;
    const { name, end } = found.groups ?? {};
    // Flags alone open no group.
    if (end === ')') return true;
    if (name !== undefined && this.#names.has(name)) return false;
    if (name !== undefined) this.#names.add(name);
    this.#groups.push({ size: 2, copies: 1 });
    this.#last = null;
    return this.#groups.length <= MAX_DEPTH;
  }

  #close(): boolean {
    const group = this.#group;
    if (this.#groups.length === 1) return false;
    this.#groups.pop();
    this.#at += 1;
    return this.#add(group);
  }

  #escape(): boolean {
    const quoted = this.#take(QUOTED)?.[1];
    if (quoted !== undefined) {
      // A repetition repeats the last character alone.
      if (quoted !== '') this.#add({ size: 1, copies: 1 });
      this.#group.size += Math.max(0, quoted.length - 1);
      return true;
    }
    const named = this.#namedClass();
    if (named !== null) return named && this.#add({ size: NAMED_CLASS_SIZE, copies: 1 });
    return (this.#take(POSITION) !== null || this.#code() !== null) && this.#add({ size: 1, copies: 1 });
  }

  #class(): boolean {
    const { length } = this.#text;
    const isNegated = this.#text.startsWith('[^', this.#at);
    this.#at += isNegated ? 2 : 1;
    let size = isNegated ? 1 + this.#wide : 2;
    for (let isFirst = true; isFirst || this.#text[this.#at] !== ']'; isFirst = false) {
      if (this.#at >= length) return false;
      const named = this.#namedClass() ?? this.#posixClass();
      if (named === false || (named === null && !this.#range())) return false;
      size += named === true ? NAMED_CLASS_SIZE : 2;
    }
    this.#at += 1;
    return this.#add({ size, copies: 1 });
  }

  /** A character of a class, or a range of two. */
  #range(): boolean {
    const low = this.#character();
    if (low === null) return false;
    if (this.#text[this.#at] !== '-' || this.#at + 1 >= this.#text.length || this.#text[this.#at + 1] === ']') return true;
    this.#at += 1;
    const high = this.#character();
    return high !== null && low <= high;
  }

  #character(): number | null {
    if (this.#text[this.#at] === '\\') return this.#code();
    this.#at += 1;
    return this.#text.charCodeAt(this.#at - 1);
  }

  /** `\d`, `\pL` and the like: null where none begins. */
  #namedClass(): boolean | null {
    if (this.#take(PERL_CLASS) !== null) return true;
    if (!/[pP]/.test(this.#text[this.#at + 1] ?? '') || this.#text[this.#at] !== '\\') return null;
    const found = this.#take(UNICODE_CLASS);
    return found !== null && UNICODE_CLASSES.has(found[1] ?? found[2] ?? '');
  }

  /** `[:alpha:]` and the like inside a class: null where none begins. */
  #posixClass(): boolean | null {
    if (this.#take(POSIX_CLASS) !== null) return true;
    return this.#at < this.#posixEnd && this.#take(UNKNOWN_POSIX_CLASS) !== null ? false : null;
  }

  /** The code of an escaped character; null where the escape is none. */
  #code(): number | null {
    const found = this.#take(CODE);
    if (found === null) return null;
    const [all, braced, hex, octal] = found;
    const code =
      octal !== undefined
        ? Number.parseInt(octal, 8)
        : braced !== undefined || hex !== undefined
          ? Number.parseInt(braced ?? hex ?? '', 16)
          : (C_ESCAPES[all.slice(1)] ?? all.charCodeAt(1));
    return code <= MAX_CODE ? code : null;
  }

  #add(part: Part): true {
    this.#group.size += part.size;
    this.#group.copies = Math.max(this.#group.copies, part.copies);
    this.#last = part;
    return true;
  }

  /** The text that a sticky expression finds here; null if nothing. */
  #take(form: RegExp): RegExpExecArray | null {
    form.lastIndex = this.#at;
    const found = form.exec(this.#text);
    if (found !== null) this.#at += found[0].length;
    return found;
  }
}
