// The findings of the checks of one document. Violations go on to the check as a whole, which bounds them and may end there;
// warnings are kept here, each once, in the order found, and bounded in number.
import type { Refuse } from '../base/violations.ts';

/** The number of warnings of one document that are listed; the rest is counted. */
const MAX_WARNINGS = 100;

export class Findings {
  readonly #refuse: Refuse;
  readonly #warnings = new Set<string>();
  #moreWarnings = 0;
  #hasViolation = false;

  constructor(refuse: Refuse = () => undefined) {
    this.#refuse = refuse;
  }

  /** `field` is invalid; `reason` names the allowed values. */
  violation(field: string, reason: string): void {
    this.#hasViolation = true;
    this.#refuse(field, reason);
  }

  /** `field` is accepted, but a person should know something about it. */
  warning(field: string, sentence: string | (() => string)): void {
    if (this.#warnings.size >= MAX_WARNINGS) this.#moreWarnings += 1;
    else this.#warnings.add(`${field}: ${typeof sentence === 'string' ? sentence : sentence()}`);
  }

  get isEmpty(): boolean {
    return !this.#hasViolation && this.#warnings.size === 0;
  }

  get warnings(): string[] {
    const more = this.#moreWarnings;
    return [...this.#warnings, ...(more > 0 ? [`spec: ${more} more warnings`] : [])];
  }
}
