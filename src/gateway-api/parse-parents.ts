// `spec.parentRefs`: the services whose clients take the route. They decide `to[].targetRef` (issue: mesh use), so that a route
// in the service's namespace is a producer route and one elsewhere a consumer route (MADR 063).
import type { Field } from './field.ts';
import { GATEWAY_GROUP, isService, MESH_GROUP, type ParentRef } from './gateway-route.ts';
import { parseObjectRef, REF_KEYS } from './parse-object-ref.ts';
import { textForms } from './text-forms.ts';

/** The mesh's own kinds that a route can be attached to, in group `kuma.io`. */
const MESH_KINDS = ['MeshService', 'MeshExternalService', 'MeshMultiZoneService'];
const INSTEAD = 'write kind: Service (group left out) with the name of the service whose clients take the route';

/** All parents: at least one, without duplicates. */
export function parseParents(spec: Field, namespace: string | undefined): ParentRef[] {
  const field = spec.at('parentRefs');
  const items = field.items();
  if (!field.isGiven || field.isEmptyList)
    field.refuse('must name at least one service: write parentRefs: [{kind: Service, name: …}]');
  const seen = new Map<string, string>();
  return items.flatMap((item) => {
    const parent = parseParent(item, namespace);
    if (parent === undefined) return [];
    const { at, ...identity } = parent;
    const key = JSON.stringify(identity);
    const other = seen.get(key);
    seen.set(key, at);
    if (other === undefined) return [parent];
    item.refuse(`is the same parent as ${other}: leave one out`);
    return [];
  });
}

function parseParent(item: Field, namespace: string | undefined): ParentRef | undefined {
  if (!item.isGiven) return item.refuse('must be an object with kind and name');
  if (!item.isObject()) return undefined;
  item.allowKeys([...REF_KEYS, 'port', 'sectionName']);
  // Gateway API's own default is Gateway, which has no home in a mesh.
  if (!item.at('kind').isGiven) return item.at('kind').refuse(`must be given, since it would mean Gateway: ${INSTEAD}`);
  const object = parseObjectRef(item, namespace);
  const port = item.at('port').integer(1, 65_535);
  const sectionName = item.at('sectionName').text(textForms.section);
  if (object === undefined) return undefined;
  const isMeshKind = object.group === MESH_GROUP && MESH_KINDS.includes(object.kind);
  if (!isService(object) && !isMeshKind) {
    if (object.group === GATEWAY_GROUP && object.kind !== 'Service')
      return item.at('kind').refuse(`${object.kind} has no home in a mesh: ${INSTEAD}`);
    const wrong = object.kind === 'Service' ? 'group' : 'kind';
    return item.at(wrong).refuse(`${item.at(wrong).shown} has no home in a mesh: ${INSTEAD}`);
  }
  return { ...object, at: item.path, port, sectionName };
}
