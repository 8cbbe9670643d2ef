// What the checks of one document found: violations and warnings, each once, in the order found, and bounded in number.
import type { Violation } from '../../base/errors.ts';

/** More than this helps nobody and makes an answer larger than the document; the rest is counted. */
export const MAX_FINDINGS = 1_000;

export class Findings {
  readonly #violations = new Map<string, Violation>();
  readonly #warnings = new Set<string>();
  #moreViolations = 0;
  #moreWarnings = 0;

  /** `field` is wrong; `reason` says what is allowed. */
  violation(field: string, reason: string): void {
    if (this.#violations.size >= MAX_FINDINGS) {
      this.#moreViolations += 1;
      return;
    }
    const key = `${field}\n${reason}`;
    if (!this.#violations.has(key)) this.#violations.set(key, { field, reason });
  }

  /** `field` is accepted, but a person should know something about it. */
  warning(field: string, sentence: string): void {
    if (this.#warnings.size >= MAX_FINDINGS) this.#moreWarnings += 1;
    else this.#warnings.add(`${field}: ${sentence}`);
  }

  /** Whether more violations are only counted, so that a caller need not name them. */
  get isFull(): boolean {
    return this.#violations.size >= MAX_FINDINGS;
  }

  get isEmpty(): boolean {
    return this.#violations.size === 0 && this.#warnings.size === 0;
  }

  get violations(): Violation[] {
    const more = this.#moreViolations;
    return [...this.#violations.values(), ...(more > 0 ? [{ field: 'spec', reason: `has ${more} more violations` }] : [])];
  }

  get warnings(): string[] {
    const more = this.#moreWarnings;
    return [...this.#warnings, ...(more > 0 ? [`spec: ${more} more warnings`] : [])];
  }
}
