// The profile of a zone by its Zone: whether it is enabled, the meshes that it is a member of, and its labels. Global decides
// with it which zone gets which resource. Pure. Invariant: a profile that cannot be read gives a zone less, never more.
import type { Refuse } from '../base/violations.ts';
import { collectViolations, type Violation } from '../base/violations.ts';
import type { JsonObject, Labels, Resource } from './types.ts';

export type ZoneProfile = {
  readonly isEnabled: boolean;
  /** The meshes of the zone; null for all meshes. */
  readonly meshes: ReadonlySet<string> | null;
  readonly labels: Labels;
};

/** A zone without a row, or with an empty one: enabled, and a member of every mesh. */
export const ANY_ZONE: ZoneProfile = { isEnabled: true, meshes: null, labels: {} };

/** The profile in a Zone. No list of meshes, and an empty one, mean all meshes: proto3 JSON cannot tell the two apart. */
export function profileOf({ spec, labels }: Pick<Resource, 'spec' | 'labels'>): ZoneProfile {
  return { isEnabled: spec['enabled'] !== false, meshes: meshesOf(spec), labels };
}

function meshesOf({ meshes }: JsonObject): ReadonlySet<string> | null {
  if (meshes === undefined || meshes === null) return null;
  // Another writer than the REST API may store anything.
  if (!Array.isArray(meshes)) return new Set();
  return meshes.length === 0 ? null : new Set(meshes.filter((mesh) => typeof mesh === 'string'));
}

export function isMember({ meshes }: Pick<ZoneProfile, 'meshes'>, mesh: string): boolean {
  return meshes === null || meshes.has(mesh);
}

/** The number of meshes that a Zone can name. */
const MAX_MESHES = 1_000;
const MESH_NAME = /^[0-9a-z._-]{1,253}$/;

/** The violations of `meshes` in a Zone as a person writes it. A mesh that does not exist yet may be named. */
export function zoneViolations({ meshes }: JsonObject): Violation[] {
  return collectViolations((refuse) => {
    if (meshes === undefined || meshes === null) return;
    if (!Array.isArray(meshes)) refuse('meshes', 'must be a list of names of meshes');
    else if (meshes.length === 0) refuse('meshes', 'must name at least one mesh; leave the field out for all meshes');
    else if (meshes.length > MAX_MESHES) refuse('meshes', `must have at most ${String(MAX_MESHES)} names`);
    else checkNames(meshes, refuse);
  });
}

function checkNames(meshes: readonly unknown[], refuse: Refuse): void {
  const seen = new Set<unknown>();
  for (const [index, mesh] of meshes.entries()) {
    const field = `meshes[${String(index)}]`;
    if (typeof mesh !== 'string' || !MESH_NAME.test(mesh))
      refuse(field, 'must be the name of a mesh: at most 253 of lower-case letters, digits, "-", "_" and "."');
    else if (seen.has(mesh)) refuse(field, `must be another mesh; ${JSON.stringify(mesh)} is in the list already`);
    seen.add(mesh);
  }
}

/**
 * A service with labels of this prefix is for zones with these labels alone: `exported-to.meridian.io/region: eu` is for zones with
 * the label `region: eu`. All such labels of a service must fit.
 */
const EXPORTED_TO = 'exported-to.meridian.io/';

const EXPORTED_TYPES: ReadonlySet<string> = new Set(['MeshService', 'MeshMultiZoneService', 'MeshExternalService']);

/** The labels that a zone needs to get a service; undefined if the resource is for all zones. */
export function exportSelectorOf({ type, labels }: Pick<Resource, 'type' | 'labels'>): Labels | undefined {
  if (!EXPORTED_TYPES.has(type)) return undefined;
  let selector: Record<string, string> | undefined;
  for (const [key, value] of Object.entries(labels)) {
    if (!key.startsWith(EXPORTED_TO)) continue;
    selector ??= {};
    selector[key.slice(EXPORTED_TO.length)] = value;
  }
  return selector;
}

/** Whether labels of a zone fit a selector. */
export function fits(selector: Labels, labels: Labels): boolean {
  for (const key in selector) if (labels[key] !== selector[key]) return false;
  return true;
}
