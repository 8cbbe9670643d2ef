// What every control plane checks of a resource, whether it came by REST or by KDS (kds-wire 6.2, policies 1.5).
// Only what no peer may send is refused here: an old peer's resource must not be lost to a new rule.
import type { Violation } from '../base/errors.ts';
import { displayNameOf } from './labels.ts';
import type { TypeInfo } from './type-registry.ts';
import type { Json, JsonObject, Labels } from './types.ts';
import { dataplaneViolations } from './validate-dataplane.ts';
import { isObject } from './read-json.ts';

const RFC_1035_LABEL = /^[a-z]([a-z0-9-]{0,61}[a-z0-9])?$/;

/** All violations of a resource; empty when it is valid. Paths start at `name` or `spec` (protobuf types: at their field). */
export function validateResource(
  info: TypeInfo,
  resource: { name: string; mesh: string; labels: Labels; spec: JsonObject },
): Violation[] {
  const violations: Violation[] = [];
  if (info.labelName && !RFC_1035_LABEL.test(displayNameOf(resource))) {
    violations.push({
      field: 'name',
      reason: 'must be an RFC 1035 label: lower-case letters, digits and hyphens, a letter first, at most 63 characters',
    });
  }
  if (info.name === 'Dataplane') violations.push(...dataplaneViolations(resource.spec));
  if (info.policy !== null) validatePolicy(resource.spec, violations);
  return violations;
}

/** The frame that all targetRef policies share; their confs are checked where the policies live. */
function validatePolicy(spec: JsonObject, violations: Violation[]): void {
  validateTargetRef(spec['targetRef'], 'spec.targetRef', violations);
  for (const section of ['to', 'from', 'rules'] as const) {
    const items = spec[section];
    if (items === undefined || items === null) continue;
    if (!Array.isArray(items)) violations.push({ field: `spec.${section}`, reason: 'must be a list' });
    else {
      for (const [index, item] of items.entries()) {
        const path = `spec.${section}[${String(index)}]`;
        if (!isObject(item)) violations.push({ field: path, reason: 'must be an object' });
        else validateTargetRef(item['targetRef'], `${path}.targetRef`, violations);
      }
    }
  }
}

function validateTargetRef(ref: Json | undefined, path: string, violations: Violation[]): void {
  if (ref === undefined || ref === null) return;
  if (!isObject(ref)) violations.push({ field: path, reason: 'must be an object' });
  else if (typeof ref['kind'] !== 'string' || ref['kind'] === '')
    violations.push({ field: `${path}.kind`, reason: 'must be the name of a kind' });
}
