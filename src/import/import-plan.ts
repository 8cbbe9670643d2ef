// What an import of a Kubernetes global would store, leave out, convert and lose. Pure: the command prints the plan or stores it.
import { MeridianError, messageOf } from '../base/errors.ts';
import { normalizeSpec } from '../resource/codec.ts';
import { hashNameOf } from '../resource/hash-name.ts';
import { displayNameOf, label } from '../resource/labels.ts';
import { withoutOlderKeys } from '../resource/older-keys.ts';
import { isObject, objectOf, textOf } from '../resource/read-json.ts';
import { isClusterWide, storedNameOf } from '../resource/stored-name.ts';
import { findType, type TypeInfo } from '../resource/type-registry.ts';
import { keyText, type JsonObject } from '../resource/types.ts';
import { validateResource } from '../resource/validate-spec.ts';
import { checkSpec } from '../validation/check-spec.ts';
import { reasonsWithheld } from '../validation/kuma-form.ts';
import { lossesOf, unaccepted, type Loss } from '../takeover/losses.ts';
import { rowOfKubernetes } from '../takeover/read-dump.ts';
import type { TakenRow } from '../takeover/taken-row.ts';
import { zoneKinds, type ZoneKind } from '../takeover/zone-releases.ts';
import { reasonsBy, zoneViews, type ZoneViews } from '../takeover/zone-views.ts';
import { convertRow, isForGatewaysAlone, withTypedCertificates, type Note, type Surroundings } from './convert-row.ts';
import { CLUSTER_ID, sortObject } from './sort-object.ts';

type Named = { readonly type: string; readonly mesh: string; readonly name: string };

export type ImportPlan = {
  /** The rows to store, under their stored names, Meshes and Zones first. */
  readonly rows: readonly TakenRow[];
  readonly leftOut: readonly (Named & { readonly reason: string })[];
  readonly converted: readonly (Named & Note)[];
  /** Without those that are accepted. */
  readonly losses: readonly Loss[];
  /** The zones by their kind, each kind with what its zones see. */
  readonly zones: ZoneViews;
};

type PlanOptions = {
  /** Kinds of losses, or types, that a person accepts. */
  readonly accept: readonly string[];
  /** The kinds of zones of which the dump tells no release. */
  readonly kinds: ReadonlyMap<string, ZoneKind>;
};

/** The longest name of a row. */
const MAX_NAME = 253;
const GATEWAY_REASON = 'it is for built-in gateways, which Meridian does not have';

/**
 * @param objects of `kubectl get -o yaml`: the resources of Kuma, the Secrets of its namespace, and the ConfigMap with the cluster id
 * @throws MeridianError `invalid` for a dump without the cluster id, and for two objects that would be one row
 */
export function importPlan(objects: readonly JsonObject[], { accept, kinds }: PlanOptions): ImportPlan {
  const zonesByName = new Map([...zoneKinds(objects.flatMap((object) => rowOfKubernetes(object) ?? [])), ...kinds]);
  const { own, leftOut } = sorted(objects);
  requireClusterId(own);
  const around = surroundingsOf(own, objects, [...zonesByName.values()].includes('2.x') || zonesByName.size === 0);
  const draft = new Draft(around);
  for (const row of own) draft.add(row);
  const release = around.hasOlderZones ? 2 : 3;
  const losses = [...lossesOf(draft.checked, release), ...draft.losses];
  const rows = unique(draft.rows).toSorted((a, b) => rankOf(a) - rankOf(b));
  return {
    rows,
    leftOut: [...leftOut, ...draft.leftOut],
    converted: draft.converted,
    losses: unaccepted(losses, accept),
    zones: zoneViews(zonesByName, { before: own, after: rows, reasons: reasonsOf(draft) }),
  };
}

/** What the plan says of the rows that zones see otherwise. */
function reasonsOf({ leftOut, converted }: Draft): Parameters<typeof zoneViews>[1]['reasons'] {
  const notes = reasonsBy(converted, ({ field, what }) => (field === '' ? what : `${field}: ${what}`));
  return { changed: notes, removed: reasonsBy(leftOut, ({ reason }) => reason), added: notes };
}

function sorted(objects: readonly JsonObject[]): { own: TakenRow[]; leftOut: (Named & { reason: string })[] } {
  const own: TakenRow[] = [];
  const leftOut: (Named & { reason: string })[] = [];
  for (const object of objects) {
    const result = sortObject(object);
    if (!('reason' in result)) own.push(result.row);
    else leftOut.push({ ...(result.row === null ? foreignName(object) : nameOf(result.row)), reason: result.reason });
  }
  return { own, leftOut };
}

function foreignName({ kind, metadata }: JsonObject): Named {
  return { type: textOf(kind), mesh: '', name: textOf(objectOf(metadata)['name']) };
}

function nameOf(row: TakenRow): Named {
  return { type: row.type, mesh: row.mesh, name: displayNameOf(row) };
}

function requireClusterId(own: readonly TakenRow[]): void {
  const id = own.find(({ type, name }) => type === 'Config' && name === CLUSTER_ID);
  if (textOf(id?.spec['config']) !== '') return;
  throw new MeridianError(
    'invalid',
    `the dump has no ConfigMap ${CLUSTER_ID}, by which zones know their global; add the output of: kubectl get configmap ${CLUSTER_ID} -n kuma-system -o yaml`,
  );
}

function surroundingsOf(own: readonly TakenRow[], objects: readonly JsonObject[], hasOlderZones: boolean): Surroundings {
  const keys = new Set(own.map(keyText));
  const gateways = new Set(own.filter(({ type }) => type === 'MeshGateway').map(({ mesh }) => mesh));
  const proxies = new Set<string>();
  for (const object of objects) {
    if (object['kind'] !== 'Dataplane' || !isObject(objectOf(objectOf(object['spec'])['networking'])['gateway'])) continue;
    proxies.add(rowOfKubernetes(object)?.mesh ?? '');
  }
  return {
    hasOlderZones,
    hasBuiltinGateway: (mesh) => gateways.has(mesh),
    hasGatewayProxy: (mesh) => proxies.has(mesh),
    has: (key) => keys.has(keyText(key)),
  };
}

/** The rows of a plan, one after the other. */
class Draft {
  readonly rows: TakenRow[] = [];
  readonly leftOut: (Named & { reason: string })[] = [];
  readonly converted: (Named & Note)[] = [];
  readonly losses: Loss[] = [];
  /** The converted rows before keys without effect are left out: the check for losses looks at these. */
  readonly checked: TakenRow[] = [];
  readonly #around: Surroundings;

  constructor(around: Surroundings) {
    this.#around = around;
  }

  add(row: TakenRow): void {
    const info = findType(row.type);
    if (info === undefined) this.#leaveOut(row, 'Meridian has no such type');
    else if (isForGatewaysAlone(row) && this.#around.hasBuiltinGateway(row.mesh)) this.#leaveOut(row, GATEWAY_REASON);
    else if (info.scope === 'Mesh' && !this.#around.has({ type: 'Mesh', mesh: '', name: row.mesh })) this.#withoutMesh(row);
    else this.#convert(row, info);
  }

  /** The row is lost as well, unless its zones did not have it. */
  #leaveOut(row: TakenRow, reason: string): void {
    this.leftOut.push({ ...nameOf(row), reason });
    const { from: _inbound, ...spec } = row.spec;
    this.checked.push({ ...row, spec });
  }

  #withoutMesh(row: TakenRow): void {
    const remedy = 'add the Mesh to the dump, or delete the resource';
    this.#lose(row, 'mesh', `the dump has no Mesh ${JSON.stringify(row.mesh)}`, remedy);
  }

  #convert(row: TakenRow, info: TypeInfo): void {
    const { rows, notes, isUnused = false } = convertRow(row, this.#around);
    if (isUnused) this.leftOut.push({ ...nameOf(row), reason: notes.map(({ what }) => what).join('; ') });
    else for (const note of notes) this.converted.push({ ...nameOf(row), ...note });
    for (const one of rows) {
      if (one.name !== row.name) this.converted.push({ ...nameOf(one), field: '', what: `made of ${row.type} ${row.name}` });
      this.#finish(one, findType(one.type) ?? info);
    }
  }

  #finish(row: TakenRow, info: TypeInfo): void {
    this.checked.push(row);
    const [withheld] = reasonsWithheld(info, row.spec);
    if (withheld !== undefined) {
      this.leftOut.push({ ...nameOf(row), reason: `zones cannot read it: ${withheld.field}: ${withheld.reason}` });
      return;
    }
    try {
      const stored = storedRow(info, row);
      const [fault] = validateResource(info, stored);
      if (fault !== undefined) this.#lose(row, fault.field, fault.reason, 'write it in a form that Meridian reads');
      else this.rows.push(stored);
      if (stored.name === hashNameOf(row) && stored.name !== row.name && !info.kds.skipHash)
        this.converted.push({
          ...nameOf(row),
          field: 'name',
          what: 'stored under its name on the wire: with the namespace it is too long',
        });
    } catch (error) {
      this.#lose(row, 'spec', messageOf(error), 'write it in a form that Meridian reads');
    }
  }

  #lose(row: TakenRow, field: string, reason: string, remedy: string): void {
    this.leftOut.push({ ...nameOf(row), reason: `it cannot be stored: ${field}: ${reason}` });
    this.losses.push({ ...nameOf(row), kind: `${row.type}.${field.replace(/^spec\./, '')}`, field, reason, remedy });
  }
}

/** The row as it is stored: with its namespace in the name, and without keys that nothing reads. @throws MeridianError for an unfit spec */
function storedRow(info: TypeInfo, row: TakenRow): TakenRow {
  const { mesh, labels } = row;
  const hasNamespace = !isClusterWide(info) && !info.adminOnly && !info.kds.skipHash;
  const displayName = displayNameOf(row);
  const full = hasNamespace ? storedNameOf({ displayName, namespace: labels[label.namespace] ?? '' }) : row.name;
  // The name on the wire is made of labels, so zones do not see under which name a row is stored.
  const name = full.length > MAX_NAME && hasNamespace ? hashNameOf(row) : full;
  const spec = specOf(info, { mesh, labels, name: displayName, spec: withTypedCertificates(info, row) });
  return { ...row, name, labels: labelsOf(info, { ...row, name }, displayName), spec };
}

/**
 * The labels that a write adds as well, so that the same document applied again changes nothing. A display name that the old global did not
 * have would change the row in zones.
 */
function labelsOf(info: TypeInfo, { name, labels }: TakenRow, displayName: string): TakenRow['labels'] {
  if (info.name === 'Config') return labels;
  const hasDisplayName = name !== displayName || labels[label.displayName] !== undefined || info.name === 'Zone';
  return { ...labels, ...(hasDisplayName && { [label.displayName]: displayName }), [label.origin]: 'global' };
}

function specOf(info: TypeInfo, resource: Parameters<typeof checkSpec>[1]): JsonObject {
  const known = withoutOlderKeys(info, resource.spec);
  if (info.codec.kind === 'proto') return normalizeSpec(info, known);
  const { violations, spec = known } = checkSpec(info, { ...resource, spec: known }, { strict: false });
  // A part of a spec that its schema does not read is kept whole.
  return violations.length > 0 ? known : spec;
}

/** @throws MeridianError `invalid` that names two different objects of one row */
function unique(rows: readonly TakenRow[]): TakenRow[] {
  const byKey = new Map<string, TakenRow>();
  for (const row of rows) {
    const other = byKey.get(keyText(row));
    if (other !== undefined && JSON.stringify(other) !== JSON.stringify(row))
      throw new MeridianError('invalid', `the dump has two different objects for ${row.type} ${row.mesh} ${row.name}`);
    byKey.set(keyText(row), row);
  }
  return [...byKey.values()];
}

/** Owners precede what they own. */
function rankOf({ type }: TakenRow): number {
  return type === 'Mesh' ? 0 : 1;
}
