// The form of every JSON answer (rest-api 1).

/** JSON as every answer has it: one space a level, a newline at the end. */
export function prettyJson(value: unknown): string {
  return `${JSON.stringify(value, null, 1)}\n`;
}
