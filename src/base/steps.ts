// Work in steps: a generator that yields where it may be interrupted, so that a caller can let other work through. Pure.

export type Steps<T> = Generator<undefined, T>;

/** Runs all steps at once. */
export function runSteps<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}
