// The MeshOpenTelemetryBackends of a zone and the policies that refer to them (policies 2.4: MeshAccessLog; also MeshTrace,
// MeshMetric); fed with rows, read by the planner. Pure. Invariants: a reference means the backend that a proxy of the zone gets for
// it; a changed policy resolves only its own references; a backend that is created, deleted or changes its labels or its age resolves
// those of its mesh; a row is marked only when its conditions can differ.
import { isDeepStrictEqual } from 'node:util';
import { placeOf } from '../../policy/parse-policy.ts';
import { Referents } from '../../policy/referents.ts';
import { targetRefOf, type TargetRef } from '../../policy/target-ref.ts';
import { objectOf, objectsOf } from '../../resource/read-json.ts';
import { keyText, type JsonObject, type Resource, type ResourceKey } from '../../resource/types.ts';
import type { ReconciledView } from '../reconcile.ts';

type BackendRef = {
  readonly target: TargetRef;
  /** The reference as a message shows it: `labels:a=b,c=d` or `name:otel`. */
  readonly text: string;
};

/** The references in the order of the spec. */
export function readBackendRefs(spec: JsonObject): BackendRef[] {
  const confs = [
    spec['default'],
    ...['to', 'from', 'rules'].flatMap((key) => objectsOf(spec[key]).map((item) => item['default'])),
  ];
  return confs
    .flatMap((conf) => objectsOf(objectOf(conf)['backends']))
    .map((backend) => objectOf(objectOf(backend['openTelemetry'])['backendRef']))
    .filter(({ kind }) => kind === BACKEND)
    .flatMap(refOf);
}

function refOf(ref: JsonObject): BackendRef[] {
  const target = targetRefOf(ref);
  const { name, labels } = target;
  if (labels === null) return name === '' ? [] : [{ target, text: `name:${name}` }];
  const pairs = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
  return [{ target, text: `labels:${pairs.sort().join(',')}` }];
}

export const BACKEND = 'MeshOpenTelemetryBackend';
/** The types of the view's rows: backends first, so that references resolve once. */
export const viewedTypes = [BACKEND, 'MeshAccessLog', 'MeshTrace', 'MeshMetric'] as const;

export type PolicyRefs = { readonly row: Resource; readonly refs: readonly BackendRef[]; readonly unresolved: readonly string[] };

type Policy = PolicyRefs & { readonly resolved: readonly string[] };
type Backend = {
  row: Resource;
  /** The row under which references find it: its labels and its age are those of `row`. */
  readonly referent: Resource;
  references: number;
};

export class BackendRefsView implements ReconciledView {
  readonly #zone: string;
  readonly #backends = new Map<string, Backend>();
  /** Backends by mesh. */
  readonly #referents = new Map<string, Referents>();
  readonly #policies = new Map<string, Policy>();
  readonly #marked = new Set<string>();

  constructor(zone: string) {
    this.#zone = zone;
  }

  put(row: Resource): void {
    if (row.type === BACKEND) this.#putBackend(row);
    else this.#putPolicy(row);
  }

  remove(key: ResourceKey): void {
    const id = keyText(key);
    if (key.type === BACKEND) {
      const backend = this.#backends.get(id);
      if (backend === undefined) return;
      this.#backends.delete(id);
      this.#referentsOf(key.mesh).delete(backend.referent);
      this.#resolveMesh(key.mesh);
    } else {
      this.#count(this.#policies.get(id)?.resolved, -1);
      this.#policies.delete(id);
    }
  }

  keysOf(type: string): ResourceKey[] {
    const known = type === BACKEND ? this.#backends : this.#policies;
    return [...known.values()].map(({ row }) => row).filter((row) => row.type === type);
  }

  accept(row: Resource): void {
    const id = keyText(row);
    const backend = this.#backends.get(id);
    const policy = this.#policies.get(id);
    if (backend !== undefined) backend.row = row;
    else if (policy !== undefined) this.#policies.set(id, { ...policy, row });
  }

  touch(key: ResourceKey): void {
    this.#marked.add(keyText(key));
  }

  touchAll(): void {
    for (const id of [...this.#backends.keys(), ...this.#policies.keys()]) this.#marked.add(id);
  }

  /** Returns the marked rows and clears the marks. */
  takeMarked(): { readonly policies: PolicyRefs[]; readonly backends: Readonly<Backend>[] } {
    const ids = [...this.#marked];
    this.#marked.clear();
    return {
      policies: ids.map((id) => this.#policies.get(id)).filter((policy) => policy !== undefined),
      backends: ids.map((id) => this.#backends.get(id)).filter((backend) => backend !== undefined),
    };
  }

  #putBackend(row: Resource): void {
    const id = keyText(row);
    const before = this.#backends.get(id);
    if (!isDeepStrictEqual(before?.row.status, row.status)) this.#marked.add(id);
    if (before !== undefined && isSameReferent(before.referent, row)) {
      before.row = row;
      return;
    }
    const referents = this.#referentsOf(row.mesh);
    if (before !== undefined) referents.delete(before.referent);
    referents.add(row);
    this.#backends.set(id, { row, referent: row, references: before?.references ?? 0 });
    this.#resolveMesh(row.mesh);
  }

  #putPolicy(row: Resource): void {
    const id = keyText(row);
    const before = this.#policies.get(id);
    const refs = readBackendRefs(row.spec);
    const isSame = isDeepStrictEqual(before?.refs, refs) && isDeepStrictEqual(before?.row.labels, row.labels);
    if (before !== undefined && isSame) this.#policies.set(id, { ...before, row });
    else this.#resolve(id, row, refs);
    if (!isDeepStrictEqual(before?.row.status, row.status)) this.#marked.add(id);
  }

  #resolveMesh(mesh: string): void {
    for (const [id, { row, refs }] of [...this.#policies]) if (row.mesh === mesh && refs.length > 0) this.#resolve(id, row, refs);
  }

  #resolve(id: string, row: Resource, refs: readonly BackendRef[]): void {
    const before = this.#policies.get(id);
    const resolved: string[] = [];
    const unresolved = new Set<string>();
    for (const ref of refs) {
      const backend = this.#referentsOf(row.mesh).resolveOldest(ref.target, placeOf(row), this.#zone);
      if (backend === undefined) unresolved.add(ref.text);
      else resolved.push(keyText(backend));
    }
    this.#policies.set(id, { row, refs, resolved, unresolved: [...unresolved].sort() });
    this.#marked.add(id);
    if (isDeepStrictEqual(before?.resolved, resolved)) return;
    this.#count(before?.resolved, -1);
    this.#count(resolved, 1);
  }

  #count(backends: readonly string[] = [], by: 1 | -1): void {
    for (const id of backends) {
      const backend = this.#backends.get(id);
      if (backend === undefined) continue;
      backend.references += by;
      this.#marked.add(id);
    }
  }

  #referentsOf(mesh: string): Referents {
    let referents = this.#referents.get(mesh);
    if (referents === undefined) this.#referents.set(mesh, (referents = new Referents()));
    return referents;
  }
}

function isSameReferent(a: Resource, b: Resource): boolean {
  return a.creationTime.getTime() === b.creationTime.getTime() && isDeepStrictEqual(a.labels, b.labels);
}
