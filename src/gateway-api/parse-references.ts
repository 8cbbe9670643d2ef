// References of a route: the four fields by which Gateway API names an object, with the defaults of GEP-718, and `spec.parentRefs`.
// The parents become `to[].targetRef`: a route in the service's namespace is a producer route, one elsewhere a consumer route
// (MADR 063).
import type { Field } from './field.ts';
import { GATEWAY_GROUP, isService, MESH_GROUP, type ObjectRef, type ParentRef } from './gateway-route.ts';
import { textForms } from './text-forms.ts';
import { isServiceType } from '../resource/type-registry.ts';

/** The keys of a reference; the caller handles the other keys. */
export const REF_KEYS = ['group', 'kind', 'name', 'namespace'] as const;

/**
 * Reads a reference to a backend or a parent.
 * `kind` is Service where it is left out (GEP-718 «Proposal»), `service` means the same, and group `core` is `''` (D25).
 * @returns undefined when name, kind, group or namespace were refused
 */
export function parseObjectRef(field: Field, routeNamespace: string | undefined): ObjectRef | undefined {
  const name = field.at('name').requiredText(textForms.name);
  const kind = field.at('kind').isGiven ? field.at('kind').requiredText(textForms.kind) : 'Service';
  const group = field.at('group').isGiven ? field.at('group').text(textForms.group) : '';
  const namespace = field.at('namespace').isGiven
    ? field.at('namespace').requiredText(textForms.namespace)
    : (routeNamespace ?? null);
  if (name === undefined || kind === undefined || group === undefined || namespace === undefined) return undefined;
  const isCore = group === '' || group === 'core';
  return {
    group: isCore ? '' : group,
    kind: isCore && kind === 'service' ? 'Service' : kind,
    name,
    namespace: namespace ?? undefined,
  };
}

/** The mesh's own kinds that a route can be attached to, in group `kuma.io`. */
const INSTEAD = 'write group: "" and kind: Service with the name of the service whose clients take the route';

/** All parents: at least one, without duplicates. */
export function parseParents(spec: Field, namespace: string | undefined): ParentRef[] {
  const field = spec.at('parentRefs');
  const items = field.items();
  if (!field.isGiven || field.isEmptyList)
    field.refuse('must name at least one service: write parentRefs: [{group: "", kind: Service, name: …}]');
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
  // The default in Gateway API is Gateway, which a mesh does not have.
  if (!item.at('kind').isGiven) return item.at('kind').refuse(`must be given, since it would mean Gateway: ${INSTEAD}`);
  const object = parseObjectRef(item, namespace);
  const port = item.at('port').integer(1, 65_535);
  const sectionName = item.at('sectionName').text(textForms.section);
  if (object === undefined) return undefined;
  const isMeshKind = object.group === MESH_GROUP && isServiceType(object.kind);
  if (!isService(object) && !isMeshKind) {
    if (object.group === GATEWAY_GROUP && object.kind !== 'Service')
      return item.at('kind').refuse(`${object.kind} is not supported in a mesh: ${INSTEAD}`);
    const wrong = object.kind === 'Service' ? 'group' : 'kind';
    return item.at(wrong).refuse(`${item.at(wrong).shown} is not supported in a mesh: ${INSTEAD}`);
  }
  return { ...object, at: item.path, port, sectionName };
}
