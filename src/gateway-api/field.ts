// A cursor over an untrusted document: it reads fields, and refuses invalid values with their path. Invariants: only `refuse` throws;
// only own keys are read, so `__proto__` is an unknown key like any other.
import type { Refuse } from '../base/violations.ts';
import { isObject } from '../resource/read-json.ts';

/** The format of a text: its test, its description for a violation, and its maximum length. */
export type TextForm = {
  readonly pattern: { readonly test: (text: string) => boolean };
  readonly is: string;
  readonly max: number;
};

const PLAIN_KEY = /^[A-Za-z_][\w-]{0,62}$/;
const MAX_SHOWN = 60;
/** The maximum number of list items, far above any limit of Gateway API. */
const MAX_ITEMS = 1_000;

export class Field {
  readonly path: string;
  readonly #value: unknown;
  readonly #refuse: Refuse;

  constructor(value: unknown, path: string, refuse: Refuse) {
    this.#value = value;
    this.path = path;
    this.#refuse = refuse;
  }

  /** Absent and null are the same, as they are to Kubernetes. */
  get isGiven(): boolean {
    return this.#value !== undefined && this.#value !== null;
  }

  get value(): unknown {
    return this.#value;
  }

  /** The value for messages: short, on one line. */
  get shown(): string {
    const text = JSON.stringify(this.#value) ?? 'nothing';
    return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
  }

  get isEmptyList(): boolean {
    return Array.isArray(this.#value) && this.#value.length === 0;
  }

  /** The same value; its violations are not recorded. */
  quiet(): Field {
    return new Field(this.#value, this.path, () => undefined);
  }

  refuse(reason: string): undefined {
    this.#refuse(this.path, reason);
    return undefined;
  }

  /** The field of that key; an absent field if this is not an object. */
  at(key: string): Field {
    const value = isObject(this.#value) && Object.hasOwn(this.#value, key) ? this.#value[key] : undefined;
    const step = PLAIN_KEY.test(key) ? `.${key}` : `[${JSON.stringify(key.slice(0, MAX_SHOWN))}]`;
    return new Field(value, this.path === '' ? step.replace(/^\./, '') : `${this.path}${step}`, this.#refuse);
  }

  /** The keys that are given; none when this is no object. */
  keys(): string[] {
    return isObject(this.#value) ? Object.keys(this.#value).filter((key) => this.at(key).isGiven) : [];
  }

  /** Whether it is an object; any other present value is refused. */
  isObject(): boolean {
    if (isObject(this.#value)) return true;
    if (this.isGiven) this.refuse(`must be an object, not ${this.shown}`);
    return false;
  }

  /**
   * Refuses unknown keys. `elsewhere` gives the replacement for a key that is not supported; the caller refuses the `judged` keys with
   * its own reason.
   */
  allowKeys(known: readonly string[], elsewhere: Readonly<Record<string, string>> = {}, judged: readonly string[] = []): void {
    for (const key of this.keys()) {
      if (known.includes(key) || judged.includes(key)) continue;
      const hint = Object.hasOwn(elsewhere, key) ? elsewhere[key] : undefined;
      this.at(key).refuse(hint ?? `is not supported here; supported fields: ${known.join(', ')}`);
    }
  }

  /** The items of a list; empty when the field is absent or not a list. */
  items(): Field[] {
    if (!this.isGiven) return [];
    if (!Array.isArray(this.#value)) {
      this.refuse(`must be a list, not ${this.shown}`);
      return [];
    }
    if (this.#value.length > MAX_ITEMS) {
      this.refuse(`must have at most ${String(MAX_ITEMS)} items`);
      return [];
    }
    return this.#value.map((item: unknown, index) => new Field(item, `${this.path}[${String(index)}]`, this.#refuse));
  }

  /** The text, or undefined where nothing is given or it was refused. */
  text(form?: TextForm): string | undefined {
    if (!this.isGiven) return undefined;
    if (typeof this.#value !== 'string') return this.refuse(`must be a string, not ${this.shown}`);
    if (form !== undefined && (this.#value.length > form.max || !form.pattern.test(this.#value)))
      return this.refuse(`must be ${form.is}, at most ${String(form.max)} characters, not ${this.shown}`);
    return this.#value;
  }

  /** Reads as `text` does. The text must be there, and not be empty. */
  requiredText(form?: TextForm): string | undefined {
    if (!this.isGiven || this.#value === '') return this.refuse('must be given');
    return this.text(form);
  }

  /** The integer, or undefined where nothing is given or it was refused. */
  integer(min: number, max: number): number | undefined {
    if (!this.isGiven) return undefined;
    const value = this.#value;
    if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max) return value;
    return this.refuse(`must be an integer from ${String(min)} to ${String(max)}, not ${this.shown}`);
  }

  /** One of the choices, or undefined where nothing is given or it was refused. */
  choice<T extends string | number>(choices: readonly T[]): T | undefined {
    if (!this.isGiven) return undefined;
    const found = choices.find((choice) => choice === this.#value);
    return found ?? this.refuse(`must be one of ${choices.join(', ')}, not ${this.shown}`);
  }
}
