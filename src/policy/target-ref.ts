// A targetRef with its defaults filled in, so that no other code checks which keys were written (policies 1.1).
import type { Json, Labels } from '../resource/types.ts';
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
export function targetRefOf(value: Json | undefined): TargetRef {
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
