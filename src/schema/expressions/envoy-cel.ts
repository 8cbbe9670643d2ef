// The expressions of `%CEL(…)%` that Envoy 1.40 takes (xds 3.3): the grammar of the CEL language definition, with the functions that Envoy
// knows. Envoy reads literal structures, comments and texts of three quotes too; here they are refused. Invariant: the time is linear in
// the text, and the depth is bounded. Pure.
import { BALANCED, GLOBAL, MEMBER, OF_RE, OPERATORS, type Functions } from './cel-functions.ts';
import { CONSTANTS, contentOf, isFieldName, isInRange, isName, isText, tokensOf } from './cel-tokens.ts';
import { isShortRe2 } from './re2.ts';

/** The limits of the characters of an expression, of the levels of its tree, and of expressions inside of each other. */
const MAX_LENGTH = 10_000;
const MAX_DEPTH = 32;

/** @property text the text of a name or a literal text; null for one that is not read */
type Node = { readonly depth: number; readonly form: 'name' | 'field' | 'text' | 'other'; readonly text: string | null };
const leaf = (form: Node['form'] = 'other', text: string | null = null): Node => ({ depth: 1, form, text });
const over = (...parts: readonly Node[]): Node => ({
  ...leaf(),
  depth: parts.reduce((most, { depth }) => Math.max(most, depth), 0) + 1,
});

/** Whether Envoy takes a text as a CEL expression. */
export function isEnvoyCel(text: string): boolean {
  const tokens = text.length > MAX_LENGTH ? null : tokensOf(text);
  return tokens !== null && new Reader(tokens).isExpression();
}

/** Reads tokens once. After a fault it is behind the last token, where nothing else is read. */
class Reader {
  readonly #tokens: readonly string[];
  #at = 0;
  #nesting = 0;

  constructor(tokens: readonly string[]) {
    this.#tokens = tokens;
  }

  isExpression(): boolean {
    return this.#expression().depth <= MAX_DEPTH && this.#at === this.#tokens.length;
  }

  #fail(): Node {
    this.#at = Number.POSITIVE_INFINITY;
    return leaf();
  }

  get #next(): string {
    return this.#tokens[this.#at] ?? '';
  }

  #take(): string {
    const token = this.#next;
    this.#at += 1;
    return token;
  }

  #skip(token: string): boolean {
    if (this.#next !== token) return false;
    this.#at += 1;
    return true;
  }

  #expression(): Node {
    this.#nesting += 1;
    if (this.#nesting > MAX_DEPTH) return this.#fail();
    let node = this.#operation(0);
    if (this.#skip('?')) {
      const first = this.#operation(0);
      node = this.#skip(':') ? over(node, first, this.#expression()) : this.#fail();
    }
    this.#nesting -= 1;
    return node;
  }

  #operation(level: number): Node {
    const operators = OPERATORS[level];
    if (operators === undefined) return this.#unary();
    const parts = [this.#operation(level + 1)];
    while (operators.has(this.#next)) {
      this.#at += 1;
      parts.push(this.#operation(level + 1));
    }
    return parts.length > 1 && level < BALANCED ? over(...parts) : parts.reduce((left, right) => over(left, right));
  }

  #unary(): Node {
    const sign = this.#next;
    if (sign !== '!' && sign !== '-') return this.#member();
    while (this.#skip(sign));
    const node = this.#member();
    // Envoy drops two signs before a text.
    return node.form === 'text' ? { ...node, depth: node.depth + 1 } : over(node);
  }

  #member(): Node {
    let node = this.#primary();
    for (;;) {
      if (this.#skip('[')) {
        node = over(node, this.#expression());
        if (!this.#skip(']')) return this.#fail();
      } else if (this.#skip('.')) node = this.#field(node);
      else return node;
    }
  }

  #field(target: Node): Node {
    const name = this.#take();
    if (!isFieldName(name)) return this.#fail();
    if (!this.#skip('(')) return { ...over(target), form: 'field' };
    const isOfRe = target.form === 'name' && target.text === 're' && OF_RE.has(name);
    return this.#call(name, isOfRe ? OF_RE : MEMBER, [target]);
  }

  /** Reads a call. @param target the target of a member function; empty for a global one */
  #call(name: string, known: Functions, target: readonly Node[]): Node {
    const given = this.#items(')');
    const last = given.at(-1);
    if (known.get(name)?.includes(given.length) !== true) return this.#fail();
    if (name === 'has' && last?.form !== 'field') return this.#fail();
    if (name === 'matches' && last?.form === 'text' && !(last.text !== null && isShortRe2(last.text))) return this.#fail();
    return over(...target, ...given);
  }

  #primary(): Node {
    const token = this.#take();
    if (token === '(') {
      const node = this.#expression();
      return this.#skip(')') ? node : this.#fail();
    }
    if (token === '[' || token === '{') return over(...this.#items(token === '[' ? ']' : '}'));
    if (isText(token)) return /^[bB]/.test(token) ? leaf() : leaf('text', contentOf(token));
    if (/^\.?\d/.test(token)) return isInRange(token) ? leaf() : this.#fail();
    if (CONSTANTS.has(token)) return leaf();
    const name = token === '.' ? this.#take() : token;
    if (!isName(name)) return this.#fail();
    return token !== '.' && this.#skip('(') ? this.#call(name, GLOBAL, []) : leaf('name', name);
  }

  /** Reads up to the end of the arguments, of the list or of the map. A comma may be the last of a list or a map. */
  #items(end: ')' | ']' | '}'): Node[] {
    const items: Node[] = [];
    while (!this.#skip(end)) {
      items.push(this.#expression());
      if (end === '}') items.push(this.#skip(':') ? this.#expression() : this.#fail());
      const isMore = this.#skip(',');
      if (isMore ? end === ')' && this.#next === end : this.#next !== end) this.#fail();
      if (this.#next === '') return [this.#fail()];
    }
    return items;
  }
}
