// Checks the spec of a JSON type as a person writes it, before it is stored (decisions D7). What comes by KDS is never checked here.
// All findings of a document come at once; the given spec is neither changed nor completed, and no input makes it throw.
import { z } from 'zod';
import type { Violation } from '../../base/errors.ts';
import { policyRole } from '../policy-role.ts';
import type { TypeInfo } from '../type-registry.ts';
import type { JsonObject, Labels } from '../types.ts';
import { cleanSpec } from './clean-spec.ts';
import { Findings } from './findings.ts';
import { addSchemaViolations } from './schema-violations.ts';
import { specDefinitions } from './schemas.ts';
import { applyRules, knownPart } from './spec-rules.ts';

export type SpecCheck = {
  readonly violations: readonly Violation[];
  readonly warnings: readonly string[];
  /** The spec without unknown keys, where there are some and they are no violations: what is to be stored. */
  readonly spec?: JsonObject;
};

const NOTHING: SpecCheck = { violations: [], warnings: [] };
const jsonSchemas = new Map<string, JsonObject>();

/**
 * Checks the spec of a JSON type as a person writes it; specs of protobuf types are the codec's business.
 * @param resource its namespace label decides what a policy may do (policies 1.6)
 * @param options with `strict` unknown keys are violations, else warnings (decisions D7); both name the nearest known key
 * @returns violations with paths from `spec`, in document order, and warnings of the form `path: sentence`
 */
export function checkSpec(
  info: TypeInfo,
  resource: { readonly labels: Labels; readonly mesh: string; readonly name: string; readonly spec: JsonObject },
  options: { readonly strict: boolean },
): SpecCheck {
  const definition = specDefinitions.get(info.name);
  if (definition === undefined) return NOTHING;
  const findings = new Findings();
  const spec = cleanSpec(resource.spec, findings);
  addSchemaViolations(definition.schema, spec, findings);
  const unknownKeys = new Findings();
  applyRules(definition.schema, spec, findings, (path, hint) => {
    if (options.strict) unknownKeys.violation(path, `is not a known key; ${hint()}`);
    else unknownKeys.warning(path, `is not a known key and has no effect; ${hint()}`);
  });
  const role = policyRole({ spec, labels: resource.labels });
  definition.check?.(spec, { type: info.name, role }, findings);
  const counted = findings.violations.filter(({ field }) => definition.counts?.(field, spec) ?? true);
  const reported = counted.map((violation) => definition.reported?.(violation) ?? violation);
  return {
    violations: [...reported, ...unknownKeys.violations],
    warnings: [...findings.warnings, ...unknownKeys.warnings],
    ...(unknownKeys.warnings.length > 0 && { spec: knownPart(definition.schema, resource.spec) }),
  };
}

/**
 * JSON Schema (draft 2020-12) of a type's spec, for OpenAPI and documents; null for types whose spec is a protobuf message.
 * Rules between fields are not in it: `checkSpec` alone decides.
 */
export function specJsonSchema(type: string): JsonObject | null {
  const definition = specDefinitions.get(type);
  if (definition === undefined) return null;
  const ready = jsonSchemas.get(type);
  if (ready !== undefined) return ready;
  const schema = JSON.parse(JSON.stringify(z.toJSONSchema(definition.schema, { io: 'input' }))) as JsonObject;
  jsonSchemas.set(type, schema);
  return schema;
}
