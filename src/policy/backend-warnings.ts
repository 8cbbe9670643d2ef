// Warnings for backends of a route that refer to no existing resource: their share of the traffic is lost (policies 1.4).
import { isObject, objectOf, objectsOf } from '../resource/read-json.ts';
import type { JsonObject } from '../resource/types.ts';
import type { MeshIndex } from './mesh-index.ts';
import { isRouteKind, type Policy } from './parse-policy.ts';
import { servicePorts } from './service-ports.ts';
import { describeRef, targetRefOf } from './target-ref.ts';

/** A sentence for each, with its field: `spec.to[0].rules[0].default.backendRefs[0]: MeshService cart does not exist`. */
export function backendWarnings(index: MeshIndex, policy: Policy): string[] {
  if (!isRouteKind(policy.type)) return [];
  return policy.to.flatMap(({ index: place, conf }) =>
    objectsOf(conf['rules']).flatMap((rule, at) =>
      backendsOf(objectOf(rule['default'])).flatMap(([field, ref]) => {
        const found = whyNone(index, policy, ref);
        return found === null ? [] : [`spec.to[${String(place)}].rules[${String(at)}].default.${field}: ${found}`];
      }),
    ),
  );
}

function backendsOf({ backendRefs, filters }: JsonObject): [field: string, ref: JsonObject][] {
  return [
    ...objectsOf(backendRefs).map((ref, at): [string, JsonObject] => [`backendRefs[${String(at)}]`, ref]),
    ...objectsOf(filters).flatMap(({ requestMirror }, at): [string, JsonObject][] => {
      const { backendRef } = objectOf(requestMirror);
      return isObject(backendRef) ? [[`filters[${String(at)}].requestMirror.backendRef`, backendRef]] : [];
    }),
  ];
}

/** Without a port a MeshService is the value of a `kuma.io/service` tag, and no resource. */
function whyNone(index: MeshIndex, policy: Policy, given: JsonObject): string | null {
  const ref = targetRefOf(given);
  const { port } = given;
  const isOfPort = typeof port === 'number' || ref.sectionName !== '';
  if (ref.kind === 'MeshService' && !isOfPort) return null;
  const found = index.resolve(ref, policy, '');
  if (found.length === 0) return `${describeRef(ref)} does not exist`;
  const ports = found.flatMap(servicePorts);
  if (!isOfPort || ports.some((one) => (ref.sectionName === '' ? one.port === port : one.section === ref.sectionName)))
    return null;
  return `${describeRef({ ...ref, sectionName: '' })} has no port ${ref.sectionName === '' ? String(port) : ref.sectionName}`;
}
