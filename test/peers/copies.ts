// The stores that must have a copy of a written document, and the check that each has an equal one.
import { isDeepStrictEqual } from 'node:util';
import { label } from '../../src/resource/labels.ts';
import type { TypeInfo } from '../../src/resource/type-registry.ts';
import type { Json, JsonObject } from '../../src/resource/types.ts';
import { MESH, type Document } from './corpus.ts';
import type { Member, MixedFleet } from './mixed-fleet.ts';
import { identityOf, readTable, type TableRow } from './table.ts';

export type Written = { readonly document: Document; readonly writer: Member };

/**
 * The members that must have a copy: all zones for a document of global; global, and for some types the other zones, for a document
 * of a zone.
 */
export function receiversOf({ global, zones }: MixedFleet, { document: { info }, writer }: Written): Member[] {
  if (writer === global) return info.kds.globalToZone ? [...zones] : [];
  const others = zones.filter((zone) => zone !== writer);
  // On Universal each policy has the role `system`; only policies with the role `producer` cross zones.
  // A Kuma global keeps the MeshTrusts of zones.
  const isKept = info.name === 'MeshTrust' && global.maker === 'kuma';
  const crosses = info.kds.acrossZones && info.policy === null && !isKept;
  return [...(info.kds.zoneToGlobal ? [global] : []), ...(crosses ? others : [])];
}

/** `writer type name → receiver` of each missing copy. */
export async function missingCopies(fleet: MixedFleet, written: readonly Written[]): Promise<string[]> {
  const tables = await readTables(fleet);
  return written.flatMap((one) =>
    receiversOf(fleet, one)
      .filter((receiver) => tables.get(receiver.name)?.get(wantedIdentity(fleet, one)) === undefined)
      .map((receiver) => `${titleOf(one)} → ${receiver.name}`),
  );
}

/** One line for each copy whose name, labels or spec differ from those of another control plane. */
export async function compareCopies(fleet: MixedFleet, written: readonly Written[]): Promise<string[]> {
  const tables = await readTables(fleet);
  const found: string[] = [];
  /** The document as the first zone stored it: all others must have stored the same. */
  const firstForms = new Map<string, { spec: JsonObject; writer: string }>();
  for (const one of written) {
    const { document, writer } = one;
    const original = tables.get(writer.name)?.get(ownIdentity(one, tables));
    if (original === undefined) {
      found.push(`${titleOf(one)}: the writer lost it`);
      continue;
    }
    const form = `${document.info.name} ${document.name}`;
    const first = firstForms.get(form) ?? { spec: original.spec, writer: writer.name };
    firstForms.set(form, first);
    found.push(
      ...differences(meaningOf(document.info, original.spec), meaningOf(document.info, first.spec)).map(
        (text) => `${titleOf(one)}, as ${first.writer} stores it: ${text}`,
      ),
    );
    const copies = receiversOf(fleet, one).flatMap((receiver) => {
      const copy = tables.get(receiver.name)?.get(wantedIdentity(fleet, one));
      return copy === undefined ? [] : [{ receiver, copy }];
    });
    for (const { receiver, copy } of copies) {
      const at = `${titleOf(one)} → ${receiver.name}`;
      found.push(
        ...differences(meaningOf(document.info, copy.spec), meaningOf(document.info, original.spec)).map(
          (text) => `${at}: ${text}`,
        ),
      );
      const given = Object.entries((document.body['labels'] ?? {}) as JsonObject).filter(([key]) => key !== label.origin);
      for (const [key, value] of given)
        if (copy.labels[key] !== value) found.push(`${at}: label ${key}: ${String(copy.labels[key])}, not ${String(value)}`);
    }
    const [zone, ...otherZones] = copies.filter(({ receiver }) => receiver !== fleet.global);
    for (const { receiver, copy } of otherZones) {
      if (zone === undefined) continue;
      const at = `${titleOf(one)} → ${receiver.name}, as in ${zone.receiver.name}`;
      if (copy.name !== zone.copy.name) found.push(`${at}: name ${copy.name}, not ${zone.copy.name}`);
      found.push(...differences(copy.labels, zone.copy.labels).map((text) => `${at}: labels${text}`));
    }
  }
  return found;
}

function titleOf({ document, writer }: Written): string {
  return `${writer.name} ${document.info.name} ${document.name}`;
}

async function readTables({ members }: MixedFleet): Promise<Map<string, Map<string, TableRow>>> {
  const tables = await Promise.all(
    members.map(async ({ name, plane }) => {
      const rows = await readTable(plane);
      return [name, new Map(rows.map((row) => [identityOf(row), row]))] as const;
    }),
  );
  return new Map(tables);
}

function wantedIdentity(fleet: MixedFleet, { document: { info, name }, writer }: Written): string {
  const zone = writer === fleet.global ? '' : writer.name;
  return [info.name, info.scope === 'Mesh' ? MESH : '', zone, name].join(' ');
}

/** A row of its own may lack the label of its zone. */
function ownIdentity(
  { document: { info, name }, writer }: Written,
  tables: ReadonlyMap<string, ReadonlyMap<string, TableRow>>,
): string {
  const mesh = info.scope === 'Mesh' ? MESH : '';
  const labelled = [info.name, mesh, writer.name, name].join(' ');
  return tables.get(writer.name)?.has(labelled) === true ? labelled : [info.name, mesh, '', name].join(' ');
}

/** Parts of the spec of a MeshService that its zone computes. */
const COMPUTED = new Set(['state', 'identities']);
/** Keys at which a Kuma peer stores `{}` for a missing value. */
const EMPTY = new Set(['default', 'selector']);

/** The normalized spec: without empty and computed parts, and with the default target. */
export function meaningOf(info: TypeInfo, spec: JsonObject): JsonObject {
  const isService = info.name === 'MeshService';
  const kept = JSON.parse(
    JSON.stringify(spec, (key, value: Json) => {
      const saysNothing = EMPTY.has(key) && isDeepStrictEqual(value, {});
      // A Kuma zone adds its name to the tags of a gateway.
      return saysNothing || key === label.zone || (isService && COMPUTED.has(key)) ? undefined : value;
    }),
  ) as JsonObject;
  return info.policy === null ? kept : { targetRef: { kind: 'Mesh' }, ...kept };
}

/** `.path: seen, not expected` of each different leaf. */
export function differences(seen: Json, expected: Json, path = ''): string[] {
  if (isDeepStrictEqual(seen, expected)) return [];
  if (isContainer(seen) && isContainer(expected) && Array.isArray(seen) === Array.isArray(expected)) {
    const [a, b] = [seen, expected] as [Readonly<Record<string, Json>>, Readonly<Record<string, Json>>];
    const keys = [...new Set([...Object.keys(a), ...Object.keys(b)])];
    return keys.flatMap((key) => {
      if (!(key in a)) return [`${path}.${key}: missing, not ${JSON.stringify(b[key])}`];
      if (!(key in b)) return [`${path}.${key}: ${JSON.stringify(a[key])}, not missing`];
      return differences(a[key] as Json, b[key] as Json, `${path}.${key}`);
    });
  }
  return [`${path}: ${JSON.stringify(seen)}, not ${JSON.stringify(expected)}`];
}

function isContainer(value: Json): boolean {
  return typeof value === 'object' && value !== null;
}
