// The inverse conversion of references: from a MeshHTTPRoute to Gateway API (policies 1.1, 1.4; the inverse of D24).
import { label } from '../resource/labels.ts';
import type { JsonObject } from '../resource/types.ts';
import type { Field } from './field.ts';
import { MESH_GROUP } from './gateway-route.ts';
import type { Resolver } from './service-resolver.ts';
import { textOf } from '../resource/read-json.ts';
import { SERVICE_TYPES } from '../resource/type-registry.ts';

export type InverseContext = {
  /** The namespace of the route. */
  readonly namespace: string | undefined;
  /** Finds the port of a target that is named without one or by the port's name. */
  readonly resolve: Resolver | undefined;
};

/** `to[].targetRef` → an entry of parentRefs. */
export function toParentRef(ref: Field, context: InverseContext): JsonObject | undefined {
  const found = toObjectRef(ref, context, ['sectionName']);
  if (found === undefined) return undefined;
  // Without a group, Kubernetes reads a parent as one of the group of Gateway API.
  const object = { group: '', ...found };
  const section = ref.at('sectionName').text();
  if (section === undefined || section === '') return object;
  return { ...object, ...(isPort(section) ? { port: Number(section) } : { sectionName: section }) };
}

/** An entry of MeshHTTPRoute's backendRefs, or a target, → one of Gateway API's: always with the number of a port. */
export function toBackendRef(ref: Field, context: InverseContext): JsonObject | undefined {
  const object = toObjectRef(ref, context, ['sectionName', 'port', 'weight', 'filters']);
  if (object === undefined) return undefined;
  const port = ref.at('port').isGiven ? ref.at('port').integer(1, 65_535) : portOf(ref, object, context);
  if (port === undefined) return undefined;
  const [weight, filters] = ['weight', 'filters'].map((key) => ref.at(key).value);
  return {
    ...object,
    port,
    ...(typeof weight === 'number' && { weight }),
    ...(Array.isArray(filters) && filters.length > 0 && { filters }),
  };
}

function toObjectRef(ref: Field, { namespace }: InverseContext, others: readonly string[]): JsonObject | undefined {
  if (!ref.isGiven) return ref.refuse('must be given: Gateway API needs a target');
  if (!ref.isObject()) return undefined;
  ref.allowKeys(['kind', 'name', 'namespace', 'labels', ...others]);
  const kind = ref.at('kind').choice(SERVICE_TYPES);
  const name = ref.at('name').isGiven ? identity(ref, 'name', namespace) : identityByLabels(ref, namespace);
  if (kind === undefined || name === undefined) return undefined;
  return kind === 'MeshService' ? { kind: 'Service', ...name } : { group: MESH_GROUP, kind, ...name };
}

type Identity = { name: string; namespace?: string };

function identity(ref: Field, key: 'name', routeNamespace: string | undefined): Identity | undefined {
  const name = ref.at(key).requiredText();
  const namespace = ref.at('namespace').text();
  if (name === undefined) return undefined;
  return { name, ...(namespace && namespace !== routeNamespace && { namespace }) };
}

/** Labels that name one object can be said; any others select, which Gateway API cannot. */
function identityByLabels(ref: Field, routeNamespace: string | undefined): Identity | undefined {
  const labels = ref.at('labels');
  const name = labels.at(label.displayName).text();
  const namespace = labels.at(label.namespace).text();
  const isOne = labels.keys().every((key) => key === label.displayName || key === label.namespace);
  if (!name || !isOne || (!namespace && routeNamespace !== undefined))
    return labels.refuse(
      `must name one object by ${label.displayName} and ${label.namespace}: an HTTPRoute cannot select by labels`,
    );
  return { name, ...(namespace && namespace !== routeNamespace && { namespace }) };
}

function portOf(ref: Field, object: JsonObject, { namespace, resolve }: InverseContext): number | undefined {
  const section = ref.at('sectionName').text();
  if (section !== undefined && isPort(section)) return Number(section);
  const resolution = resolve?.({
    group: object['kind'] === 'Service' ? '' : MESH_GROUP,
    kind: textOf(object['kind']),
    name: textOf(object['name']),
    namespace: typeof object['namespace'] === 'string' ? object['namespace'] : namespace,
  });
  const ports = resolution !== undefined && 'found' in resolution ? resolution.found.ports : [];
  const fitting = section === undefined ? ports : ports.filter((port) => port.name === section);
  const [first] = fitting;
  if (first !== undefined && fitting.length === 1) return first.port;
  return ref.at('port').refuse('must be given: an HTTPRoute names a backend with the number of its port');
}

function isPort(text: string): boolean {
  return /^[1-9][0-9]{0,4}$/.test(text) && Number(text) <= 65_535;
}
