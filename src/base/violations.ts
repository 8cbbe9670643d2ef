// A list of violations that is bounded in number and size. The check ends at the first violation over the limit, so that the work on
// invalid input is bounded as well as the answer.

/** One violation of an input: its position and the allowed values. */
export type Violation = {
  readonly field: string;
  readonly reason: string;
  /** Another field that conflicts with this one. The reason names it in the same form. */
  readonly related?: string;
  /** The line of the field in the text of the input, from 1. */
  readonly line?: number;
  readonly column?: number;
};

/** The limit of listed violations of one input. */
export const MAX_VIOLATIONS = 100;
/** The limit of a field and of a reason, in characters: both may repeat a part of the input. */
const MAX_FIELD = 400;
const MAX_REASON = 1_000;

/** Ends a check. Only `collectViolations` catches it. */
class CheckEnded extends Error {}

/** Receives the violations of a check. */
export type Refuse = (field: string, reason: string) => void;

/**
 * Runs a check and returns its violations, each once, in the order found. After `MAX_VIOLATIONS` the check ends, and the last item
 * says where.
 * @param check must not catch what `refuse` throws
 */
export function collectViolations(check: (refuse: Refuse) => void): Violation[] {
  const found = new Map<string, Violation>();
  try {
    check((field, reason) => {
      const key = `${field}\n${reason}`;
      if (found.has(key)) return;
      if (found.size < MAX_VIOLATIONS) {
        found.set(key, { field, reason });
        return;
      }
      found.set('', endedAt(field));
      throw new CheckEnded();
    });
  } catch (error) {
    if (!(error instanceof CheckEnded)) throw error;
  }
  return [...found.values()];
}

/** The list within the bounds. */
export function boundViolations(violations: readonly Violation[]): readonly Violation[] {
  const listed = violations.slice(0, MAX_VIOLATIONS + 1);
  const last = listed[MAX_VIOLATIONS];
  const more = violations.length - MAX_VIOLATIONS;
  if (last !== undefined && more > 1) listed[MAX_VIOLATIONS] = { field: last.field, reason: `and ${String(more)} more` };
  return listed.map(({ field, reason, related, ...position }) => ({
    field: cut(field, MAX_FIELD),
    reason: cut(reason, MAX_REASON),
    ...(related !== undefined && { related: cut(related, MAX_FIELD) }),
    ...position,
  }));
}

function endedAt(field: string): Violation {
  return { field, reason: `the check ends here, after ${String(MAX_VIOLATIONS)} violations; there may be more` };
}

/** The text, or as much of it as a limit in UTF-16 units leaves, with an ellipsis. */
export function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1).toWellFormed()}…`;
}
