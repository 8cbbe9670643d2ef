// A targetRef with its defaults filled in, so that no other code checks which keys were written (policies 1.1).
import type { Json, Labels } from '../resource/types.ts';
import type { ServiceRef } from '../policies/routes.ts';
import { isObject, objectOf, textMapOf, textOf } from '../resource/read-json.ts';

export type TargetRef = {
  readonly kind: string;
  /** `''`: no name. */
  readonly name: string;
  /** `''`: the namespace of the policy (D8). */
  readonly namespace: string;
  /** Null: `name`, or the kind alone, selects. */
  readonly labels: Labels | null;
  /** `''`: the whole object. */
  readonly sectionName: string;
  readonly tags: Labels;
  /** Empty: every type of proxy. */
  readonly proxyTypes: readonly string[];
};

/** Reads a targetRef; a missing one means the whole mesh (MADR 063). */
export function targetRefOf(value: unknown): TargetRef {
  const ref = objectOf(value);
  const labels = textMapOf(ref['labels']);
  const proxyTypes = Array.isArray(ref['proxyTypes']) ? ref['proxyTypes'].map(textOf) : [];
  return {
    kind: isObject(value) ? textOf(ref['kind']) : 'Mesh',
    name: textOf(ref['name']),
    namespace: textOf(ref['namespace']),
    labels: Object.keys(labels).length > 0 ? labels : null,
    sectionName: textOf(ref['sectionName']),
    tags: textMapOf(ref['tags']),
    proxyTypes,
  };
}

/** The target of a reference to a service. */
export function serviceTarget({ kind, name = '', namespace = '', labels = {}, ...rest }: ServiceRef): TargetRef {
  const { sectionName = '', tags = {}, proxyTypes = [] } = rest;
  return { kind, name, namespace, labels: Object.keys(labels).length > 0 ? labels : null, sectionName, tags, proxyTypes };
}

/** A reference to a service that no check has seen, without fields of a wrong type. It is the same object where it has none. */
export function serviceRefOf(value: Json | undefined): ServiceRef {
  const ref = objectOf(value);
  if (typeof ref['kind'] === 'string' && Object.keys(ref).every((key) => hasType(key, ref[key]))) return ref as ServiceRef;
  const right = Object.entries(ref).filter(([key, given]) => hasType(key, given));
  return { ...Object.fromEntries(right), kind: textOf(ref['kind']) };
}

function hasType(key: string, value: Json | undefined): boolean {
  switch (key) {
    case 'name':
    case 'namespace':
    case 'sectionName':
      return typeof value === 'string';
    case 'port':
      return typeof value === 'number';
    case 'proxyTypes':
      return Array.isArray(value) && value.every((type) => typeof type === 'string');
    case 'labels':
    case 'tags':
      return isObject(value) && Object.values(value).every((text) => typeof text === 'string');
    default:
      return true;
  }
}

/** `MeshService backend in namespace shop`, for messages to people. */
export function describeRef(ref: TargetRef): string {
  const section = ref.sectionName === '' ? '' : ` section ${ref.sectionName}`;
  if (ref.labels !== null) {
    const pairs = Object.entries(ref.labels).map(([key, value]) => `${key}=${value}`);
    return `${ref.kind} with labels ${pairs.join(', ')}${section}`;
  }
  if (ref.name === '') return `${ref.kind}${section}`;
  return `${ref.kind} ${ref.name}${ref.namespace === '' ? '' : ` in namespace ${ref.namespace}`}${section}`;
}
