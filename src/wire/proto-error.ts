// Wrong input to the JSON mapping: every violation names its path.

export type ProtoViolation = { readonly field: string; readonly reason: string };

export class ProtoJsonError extends Error {
  readonly violations: readonly ProtoViolation[];

  constructor(violations: readonly ProtoViolation[]) {
    super(violations.map(({ field, reason }) => `${field}: ${reason}`).join('; '));
    this.name = 'ProtoJsonError';
    this.violations = violations;
  }
}
