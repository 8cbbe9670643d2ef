// The checks of a resource that every control plane runs, for REST and for KDS (kds-wire 6.2, policies 1.5).
// They refuse only specs that no peer may send: a new rule must not lose the resource of an old peer.
import { collectViolations, type Refuse, type Violation } from '../base/violations.ts';
import { displayNameOf } from './labels.ts';
import { RFC_1035_LABEL, RFC_1035_REASON } from './stored-name.ts';
import type { TypeInfo } from './type-registry.ts';
import type { Json, JsonObject, Labels } from './types.ts';
import { dataplaneViolations } from './validate-dataplane.ts';
import { isObject } from './read-json.ts';

/** The violations of a resource, up to a bound; empty when it is valid. Paths start at `name` or `spec` (protobuf types: at their field). */
export function validateResource(
  info: TypeInfo,
  resource: { name: string; mesh: string; labels: Labels; spec: JsonObject },
): Violation[] {
  return collectViolations((refuse) => {
    if (info.labelName && !RFC_1035_LABEL.test(displayNameOf(resource))) refuse('name', RFC_1035_REASON);
    if (info.name === 'Dataplane') for (const { field, reason } of dataplaneViolations(resource.spec)) refuse(field, reason);
    if (info.policy !== null) validatePolicy(info.policy, resource.spec, refuse);
  });
}

/** The violations of the parts that targetRef policies share. A section that the type does not have is read over, as by Kuma. */
function validatePolicy({ to, rules }: NonNullable<TypeInfo['policy']>, spec: JsonObject, refuse: Refuse): void {
  validateTargetRef(spec['targetRef'], 'spec.targetRef', refuse);
  // `from` is the older form of `rules`.
  for (const section of [...(to ? ['to'] : []), ...(rules ? ['from', 'rules'] : [])]) {
    const items = spec[section];
    if (items === undefined || items === null) continue;
    if (!Array.isArray(items)) refuse(`spec.${section}`, 'must be a list');
    else {
      for (const [index, item] of items.entries()) {
        const path = `spec.${section}[${String(index)}]`;
        if (!isObject(item)) refuse(path, 'must be an object');
        else validateTargetRef(item['targetRef'], `${path}.targetRef`, refuse);
      }
    }
  }
}

function validateTargetRef(ref: Json | undefined, path: string, refuse: Refuse): void {
  if (ref === undefined || ref === null) return;
  if (!isObject(ref)) refuse(path, 'must be an object');
  else if (typeof ref['kind'] !== 'string' || ref['kind'] === '') refuse(`${path}.kind`, 'must be the name of a kind');
}
