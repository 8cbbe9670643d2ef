// Expressions of CEL in formats of Envoy: `%CEL(request.headers["x"] == "a")%`. Envoy 1.40 refuses an expression that it cannot read, that
// nests too deeply, or that calls a function which it lacks. The part of CEL that is read here has none of these (xds 3.3). Pure.
import { isRe2 } from './re2.ts';

/** Envoy takes 32 levels. Each operator, selection and pair of brackets counts as one here. */
const MAX_DEPTH = 24;
/** Brackets in each other. */
const MAX_NESTING = 8;

const BLANKS = / */y;
const RESERVED =
  'as|break|const|continue|else|false|for|function|if|import|in|let|loop|namespace|null|package|return|true|var|void|while';
const NAME = new RegExp(`(?!(?:${RESERVED})\\b)[A-Za-z_]\\w*`, 'y');
const TEXT = /"[^"\\]*"|'[^'\\]*'/y;
const LITERAL = /-?\d{1,15}(?:\.\d{1,15})?|(?:true|false|null)\b/y;
const OPERATOR = /==|!=|<=?|>=?|&&|\|\||[-+*/%]|(?<!\w)in\b/y;

/** Functions of one argument. */
const FUNCTIONS: ReadonlySet<string> = new Set(['size', 'int', 'uint', 'double', 'duration', 'timestamp']);
/** Functions of a value and one argument. */
const METHODS: ReadonlySet<string> = new Set(['startsWith', 'endsWith', 'contains']);

/** Whether a text is an expression that Envoy takes. */
export function isCel(text: string): boolean {
  const reader = new Reader(text);
  return (reader.expression(0) ?? Infinity) <= MAX_DEPTH && reader.isAtEnd;
}

/** Reads an expression once. Each method returns the depth of what it read; null at a fault. */
class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  get isAtEnd(): boolean {
    return this.#at === this.#text.length;
  }

  /** Operands with operators between them, or a choice by `?`. @param nesting brackets around it */
  expression(nesting: number): number | null {
    const condition = this.#operation(nesting);
    if (condition === null || !this.#takes('?')) return condition;
    const yes = this.#operation(nesting);
    if (yes === null || !this.#takes(':')) return null;
    return deeper(condition, yes, this.#operation(nesting));
  }

  #operation(nesting: number): number | null {
    let depth = this.#operand(nesting);
    while (depth !== null && this.#take(OPERATOR) !== null) depth = deeper(depth, this.#operand(nesting));
    return depth;
  }

  #operand(nesting: number): number | null {
    if (nesting > MAX_NESTING) return null;
    return this.#takes('!') ? deeper(this.#value(nesting)) : this.#value(nesting);
  }

  #value(nesting: number): number | null {
    if (this.#takes('(')) return this.#until(')', nesting);
    if (this.#takes('[')) return this.#list(nesting);
    if (this.#take(TEXT) !== null || this.#take(LITERAL) !== null) return this.#end(0);
    const name = this.#take(NAME);
    if (name === null) return null;
    if (!this.#text.startsWith('(', this.#at)) return this.#selections(nesting)?.depth ?? null;
    this.#at += 1;
    if (FUNCTIONS.has(name)) return this.#until(')', nesting);
    return name === 'has' ? this.#presence(nesting) : null;
  }

  /** The argument of `has`, which selects a field. */
  #presence(nesting: number): number | null {
    this.#take(BLANKS);
    if (this.#take(NAME) === null) return null;
    const found = this.#selections(nesting);
    return found?.isField === true && this.#takes(')') ? deeper(found.depth) : null;
  }

  /** `.a`, `["a"]`, and a method, which ends them. */
  #selections(nesting: number): { depth: number; isField: boolean } | null {
    let depth = 0;
    let isField = false;
    for (;;) {
      const next = this.#text[this.#at];
      if (next !== '.' && next !== '[') return { depth: this.#end(depth), isField };
      this.#at += 1;
      isField = next === '.';
      const name = isField ? this.#take(NAME) : '';
      const inner = isField ? 0 : this.#until(']', nesting);
      if (name === null || inner === null) return null;
      depth = Math.max(depth, inner) + 1;
      if (!isField || !this.#text.startsWith('(', this.#at)) continue;
      this.#at += 1;
      const argument = this.#argumentOf(name, nesting);
      return argument === null ? null : { depth: Math.max(depth, argument) + 1, isField: false };
    }
  }

  #argumentOf(method: string, nesting: number): number | null {
    if (METHODS.has(method)) return this.#until(')', nesting);
    if (method === 'size') return this.#takes(')') ? 0 : null;
    // Envoy compiles the expression at once.
    const expression = method === 'matches' ? this.#take(TEXT)?.slice(1, -1) : undefined;
    return expression !== undefined && isRe2(expression) && this.#takes(')') ? 0 : null;
  }

  #list(nesting: number): number | null {
    let depth = deeper(this.expression(nesting + 1));
    while (depth !== null && this.#takes(',')) depth = deeper(depth, this.expression(nesting + 1));
    return depth !== null && this.#takes(']') ? depth : null;
  }

  #until(bracket: string, nesting: number): number | null {
    const depth = deeper(this.expression(nesting + 1));
    return depth !== null && this.#takes(bracket) ? depth : null;
  }

  /** The end of an operand. */
  #end(depth: number): number {
    this.#take(BLANKS);
    return depth;
  }

  /** Whether this character is next. Blanks around it do not count. */
  #takes(character: string): boolean {
    this.#take(BLANKS);
    if (!this.#text.startsWith(character, this.#at)) return false;
    this.#at += character.length;
    this.#take(BLANKS);
    return true;
  }

  #take(form: RegExp): string | null {
    form.lastIndex = this.#at;
    const [found = null] = form.exec(this.#text) ?? [];
    this.#at += found?.length ?? 0;
    return found;
  }
}

/** One level above the deepest; null if one is at fault. */
function deeper(...depths: readonly (number | null)[]): number | null {
  return depths.includes(null) ? null : Math.max(...depths.map(Number)) + 1;
}
