// Checks the spec of a JSON type as a person writes it, before it is stored (D7). What comes by KDS is never checked here.
// All findings of a document come at once, up to a bound; the given spec is neither changed nor completed, and no input makes it
// throw.
import type { Violation } from '../base/errors.ts';
import { collectViolations, MAX_VIOLATIONS } from '../base/violations.ts';
import { OLDER_KEY, olderKeysIn } from '../resource/older-keys.ts';
import { policyRole } from '../resource/policy-role.ts';
import type { TypeInfo } from '../resource/type-registry.ts';
import type { JsonObject, Labels } from '../resource/types.ts';
import { cleanSpec } from '../schema/clean-spec.ts';
import { Findings } from '../schema/findings.ts';
import { addSchemaViolations } from '../schema/schema-violations.ts';
import { specDefinitions } from './schemas.ts';
import { applyRules, knownPart } from '../schema/spec-rules.ts';
import { undecodable } from './undecodable.ts';

export type SpecCheck = {
  readonly violations: readonly Violation[];
  readonly warnings: readonly string[];
  /** The spec to store, without unknown keys. It is set only if unknown keys exist and are not violations. */
  readonly spec?: JsonObject;
};

export type CheckedResource = {
  readonly labels: Labels;
  readonly mesh: string;
  readonly name: string;
  readonly spec: JsonObject;
};

const NOTHING: SpecCheck = { violations: [], warnings: [] };

/**
 * Checks the spec of a JSON type as a person writes it; specs of protobuf types are the codec's business.
 * @param resource the resource, whose namespace label decides what a policy may do (policies 1.6)
 * @param options with `strict` unknown keys are violations, else warnings (D7); both name the nearest known key. A key of Kuma
 * 2.x is always a warning: folders that its control planes take are applied here too
 * @returns violations with paths from `spec`, in document order, and warnings of the form `path: sentence`
 */
export function checkSpec(info: TypeInfo, resource: CheckedResource, options: { readonly strict: boolean }): SpecCheck {
  const definition = specDefinitions.get(info.name);
  if (definition === undefined) return NOTHING;
  const { schema, counts } = definition;
  const unknownKeys: { path: string; hint: () => string }[] = [];
  // A key that is there under a misspelt name is not missing.
  const misspelt = new Set<string>();
  const isConsequence = ({ field }: Violation): boolean => misspelt.has(field);
  const ofUnknownKeys = new Findings();
  const olderKeys = new Map(olderKeysIn(info, resource.spec).map(({ field, advice }) => [field, advice]));
  let warnings: string[] = [];
  const violations = collectViolations((refuse) => {
    let spec = resource.spec;
    const findings = new Findings((field, reason) => {
      if (counts?.(field, spec) === false) return;
      refuse(field, reason);
    });
    spec = cleanSpec(spec, findings);
    addSchemaViolations(schema, spec, findings);
    applyRules(schema, spec, findings, (path, hint, meant) => {
      const older = olderKeys.get(path);
      if (older !== undefined) ofUnknownKeys.warning(path, () => `${OLDER_KEY}; ${older}`);
      else if (!options.strict) ofUnknownKeys.warning(path, () => `is not a known key and has no effect; ${hint()}`);
      else if (unknownKeys.length <= MAX_VIOLATIONS) {
        unknownKeys.push({ path, hint });
        const known = meant();
        if (known !== null) misspelt.add(known);
      }
    });
    // Parts without effect must still be readable for peers.
    const broken = counts === undefined ? null : undecodable(info.name, spec);
    if (broken !== null && counts?.(broken.field, spec) === false) refuse(broken.field, broken.reason);
    const role = policyRole({ spec, labels: resource.labels });
    definition.check?.(spec, { type: info.name, role }, findings);
    for (const { path, hint } of unknownKeys) refuse(path, `is not a known key; ${hint()}`);
    warnings = findings.warnings;
  });
  const isCut = ofUnknownKeys.warnings.length > 0;
  return {
    violations: violations.filter((violation) => !isConsequence(violation)),
    warnings: [...warnings, ...ofUnknownKeys.warnings],
    ...(isCut && { spec: knownPart(schema, resource.spec) }),
  };
}
