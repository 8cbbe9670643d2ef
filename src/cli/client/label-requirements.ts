// Label selectors in the syntax of Kubernetes: parses requirements and checks labels against them. Pure. Invariant: every text is
// parsed completely, or refused at one position with the allowed syntax.
import { LABEL_KEY } from '../../resource/labels.ts';
import type { Labels } from '../../resource/types.ts';
import { UsageError } from '../exit-codes.ts';

/** `in`: the label exists with one of the values. `notIn`: it does not exist, or has another value. */
export type LabelRequirement =
  | { readonly key: string; readonly operator: 'in' | 'notIn'; readonly values: readonly string[] }
  | { readonly key: string; readonly operator: 'exists' | 'absent' };

type Token = { readonly kind: 'word' | 'sign' | 'end'; readonly text: string; readonly at: number };

/**
 * It allows more than a label may have, because copies from other control planes are selected too. Quotes and wildcards are
 * errors.
 */
const VALUE = /^[\w.:/-]*$/;
const TOKEN = /\s*(?:(==|!=|[=!,()<>])|([^\s=!,()<>]+))/y;

export const SELECTOR_HELP =
  'A selector has KEY=VALUE, KEY!=VALUE, KEY in (A,B), KEY notin (A,B), KEY, !KEY,\njoined by commas; all of them must hold.';

/**
 * The requirements of a selector, in their order: `a=b`, `a==b`, `a!=b`, `a in (x,y)`, `a notin (x,y)`, `a`, `!a`, joined by commas.
 * A blank text has none. `a=` means the empty value, and so does an empty item between parentheses.
 * @throws UsageError that shows the position and the allowed syntax
 */
export function parseRequirements(text: string): LabelRequirement[] {
  const reader = new TokenReader(text);
  const found: LabelRequirement[] = [];
  if (reader.isAtEnd()) return found;
  for (;;) {
    found.push(parseOne(reader));
    if (reader.isAtEnd()) return found;
    reader.expect(',', 'a comma and another requirement, or the end');
  }
}

/** Whether the labels meet the requirement. Labels without the key meet `!=` and `notin`, as in Kubernetes. */
export function meets(labels: Labels, requirement: LabelRequirement): boolean {
  const value = Object.hasOwn(labels, requirement.key) ? labels[requirement.key] : undefined;
  switch (requirement.operator) {
    case 'exists':
      return value !== undefined;
    case 'absent':
      return value === undefined;
    case 'in':
      return value !== undefined && requirement.values.includes(value);
    case 'notIn':
      return value === undefined || !requirement.values.includes(value);
  }
}

function parseOne(reader: TokenReader): LabelRequirement {
  if (reader.takes('!')) return { key: reader.key(), operator: 'absent' };
  const key = reader.key();
  const { kind, text } = reader.next;
  if (kind === 'end' || text === ',') return { key, operator: 'exists' };
  if (reader.takes('=') || reader.takes('==')) return { key, operator: 'in', values: [reader.value()] };
  if (reader.takes('!=')) return { key, operator: 'notIn', values: [reader.value()] };
  if (reader.takes('in')) return { key, operator: 'in', values: parseValues(reader) };
  if (reader.takes('notin')) return { key, operator: 'notIn', values: parseValues(reader) };
  return reader.refuse(`=, ==, !=, in, notin, a comma or the end after ${JSON.stringify(key)}`);
}

function parseValues(reader: TokenReader): string[] {
  reader.expect('(', 'the values in parentheses: (A,B)');
  if (reader.next.text === ')') reader.refuse('at least one value');
  const values = new Set<string>();
  do values.add(reader.value());
  while (reader.takes(','));
  reader.expect(')', 'a comma and another value, or )');
  return [...values];
}

/** Reads a selector token by token. An unexpected token is refused at its position. */
class TokenReader {
  readonly #text: string;
  #next: Token;

  constructor(text: string) {
    this.#text = text;
    this.#next = this.#read(0);
  }

  get next(): Token {
    return this.#next;
  }

  isAtEnd(): boolean {
    return this.#next.kind === 'end';
  }

  takes(text: string): boolean {
    if (this.isAtEnd() || this.#next.text !== text) return false;
    this.#take();
    return true;
  }

  expect(text: string, allowed: string): void {
    if (!this.takes(text)) this.refuse(allowed);
  }

  key(): string {
    const { kind, text } = this.#next;
    if (kind !== 'word') this.refuse('the key of a label');
    if (!LABEL_KEY.test(text))
      this.refuse('the key of a label: an optional DNS name and /, then at most 63 letters, digits, -, _, .');
    return this.#take();
  }

  /** A value; empty before a comma, a parenthesis or the end. */
  value(): string {
    const { kind, text } = this.#next;
    if (kind === 'end' || text === ',' || text === ')') return '';
    if (kind !== 'word' || !VALUE.test(text)) this.refuse('a value: letters, digits, -, _, ., :, / without quotes, or nothing');
    return this.#take();
  }

  refuse(allowed: string): never {
    const { kind, text, at } = this.#next;
    const there = kind === 'end' ? 'the text ends' : `there is ${JSON.stringify(text)}`;
    const shown = this.#text.replace(/\p{Cc}/gu, ' ');
    throw new UsageError(
      `--selector: at character ${String(at + 1)} ${there}; allowed is ${allowed}\n  ${shown}\n  ${' '.repeat(at)}^\n${SELECTOR_HELP}`,
    );
  }

  #take(): string {
    const { text, at } = this.#next;
    this.#next = this.#read(at + text.length);
    return text;
  }

  #read(from: number): Token {
    TOKEN.lastIndex = from;
    const [whole = '', sign, word] = TOKEN.exec(this.#text) ?? [];
    const text = sign ?? word ?? '';
    if (text === '') return { kind: 'end', text: '', at: this.#text.length };
    return { kind: sign === undefined ? 'word' : 'sign', text, at: from + whole.length - text.length };
  }
}
