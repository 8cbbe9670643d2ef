// The facts of a type that the check of a spec needs.
import type { z } from 'zod';
import type { JsonObject } from '../resource/types.ts';
import type { Findings } from './findings.ts';
import type { PolicyDocument } from './policy-frame.ts';

export type SpecDefinition = {
  /** The shape and the values; rules that hang on its objects run with it. */
  readonly schema: z.ZodType;
  /** The check of the document as a whole. */
  readonly check?: (spec: JsonObject, document: PolicyDocument, findings: Findings) => void;
  /** Whether a violation counts for this spec. */
  readonly counts?: (field: string, spec: JsonObject) => boolean;
};
