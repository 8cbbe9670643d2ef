// What the zones of a Kuma global see of its rows before a takeover and after it, for each kind of zone. The rules of the sync decide what
// a zone gets. Pure.
import { isDeepStrictEqual } from 'node:util';
import { compareText } from '../base/compare-text.ts';
import { runSteps } from '../base/steps.ts';
import { diffSteps } from '../document/json-diff.ts';
import { globalSendRules, visibilityOf } from '../kds/protocol/rules.ts';
import { normalizeSpec, type WireResource } from '../resource/codec.ts';
import { displayNameOf } from '../resource/labels.ts';
import { withoutOlderKeys } from '../resource/older-keys.ts';
import { originOf } from '../resource/ownership.ts';
import { child } from '../resource/spec-path.ts';
import { findType, type TypeInfo } from '../resource/type-registry.ts';
import { keyText, type JsonObject, type Resource } from '../resource/types.ts';
import { reasonsWithheld, toKumaForm } from '../validation/kuma-form.ts';
import { isComputed } from './older-types.ts';
import type { TakenRow } from './taken-row.ts';
import type { ZoneKind } from './zone-releases.ts';

/** A row that a zone sees otherwise after the takeover. @property why the places that differ; empty for a whole row */
export type Difference = { readonly type: string; readonly mesh: string; readonly name: string; readonly why: string };

export type ZoneView = {
  readonly kind: ZoneKind;
  /** Rows that a zone has before and after, with the same name, labels and content. */
  readonly unchanged: number;
  readonly changed: readonly Difference[];
  readonly removed: readonly Difference[];
  readonly added: readonly Difference[];
};

/** The views of all kinds of zones, each with the names of its zones. */
export type ZoneViews = readonly (ZoneView & { readonly zones: readonly string[] })[];

/** What a person reads of rows beside the places that differ, by `keyText` of type, mesh and display name. */
type Reasons = Readonly<Record<'changed' | 'removed' | 'added', ReadonlyMap<string, string>>>;

type Seen = { readonly row: TakenRow; readonly wire: Pick<WireResource, 'labels' | 'spec'> };

/** The largest number of places that a reason names. */
const MAX_PLACES = 3;
const rules = globalSendRules();

/** What zones of each kind see: `zoneView` for each kind that a zone is of, in order. */
export function zoneViews(
  kinds: ReadonlyMap<string, ZoneKind>,
  { before, after, reasons }: { before: readonly TakenRow[]; after: readonly TakenRow[]; reasons: Reasons },
): ZoneViews {
  return [...new Set(kinds.values())].toSorted().map((kind) => {
    const view = zoneView(kind, before, after);
    return {
      ...view,
      changed: explained(view.changed, reasons.changed),
      removed: explained(view.removed, reasons.removed),
      added: explained(view.added, reasons.added),
      zones: [...kinds].filter(([, one]) => one === kind).map(([zone]) => zone),
    };
  });
}

function explained(differences: readonly Difference[], reasons: ReadonlyMap<string, string>): Difference[] {
  return differences.map((one) => ({ ...one, why: [reasons.get(keyText(one)) ?? '', one.why].filter(Boolean).join('; ') }));
}

/** One text for each key, with all of its reasons. */
export function reasonsBy<T extends Pick<TakenRow, 'type' | 'mesh' | 'name'>>(
  items: readonly T[],
  reasonOf: (item: T) => string,
): Map<string, string> {
  const reasons = new Map<string, string>();
  for (const item of items) {
    const before = reasons.get(keyText(item));
    reasons.set(keyText(item), before === undefined ? reasonOf(item) : `${before}; ${reasonOf(item)}`);
  }
  return reasons;
}

/**
 * The rows that the global itself wrote, as a zone has them. Those of other zones come from the zones again.
 * @param before as the Kuma global has them
 * @param after as Meridian stores them
 */
function zoneView(kind: ZoneKind, before: Iterable<TakenRow>, after: Iterable<TakenRow>): ZoneView {
  const had = seenBy(before, (row) => sentByKuma(kind, row));
  const has = seenBy(after, (row) => sentByMeridian(kind, row));
  const changed: Difference[] = [];
  let unchanged = 0;
  for (const [key, old] of had) {
    const now = has.get(key);
    if (now === undefined) continue;
    if (isDeepStrictEqual(old.wire, now.wire)) unchanged += 1;
    else changed.push(difference(now.row, placesThatDiffer(old.wire, now.wire)));
  }
  const lacking = (a: ReadonlyMap<string, Seen>, b: ReadonlyMap<string, Seen>): Difference[] =>
    [...a].filter(([key]) => !b.has(key)).map(([, { row }]) => difference(row, ''));
  return { kind, unchanged, changed: sorted(changed), removed: sorted(lacking(had, has)), added: sorted(lacking(has, had)) };
}

function seenBy(rows: Iterable<TakenRow>, sent: (row: TakenRow) => WireResource | null): Map<string, Seen> {
  const seen = new Map<string, Seen>();
  for (const row of rows) {
    const wire = originOf(row.labels) === 'zone' ? null : sent(row);
    if (wire === null) continue;
    const { name, mesh, labels, spec } = wire;
    seen.set(JSON.stringify([row.type, mesh, name]), { row, wire: { labels, spec } });
  }
  return seen;
}

/** What a zone keeps of what a Kuma global sends; null for nothing. */
function sentByKuma(kind: ZoneKind, row: TakenRow): WireResource | null {
  const info = findType(row.type);
  if (info === undefined) return kind === '2.x' && !isComputed(row.type) ? { ...row, status: undefined } : null;
  const wire = onTheWire(info, row);
  if (wire === null || kind === '2.x') return wire;
  // A Kuma 3 refuses what it has no form for.
  if (kind === '3.x' && reasonsWithheld(info, wire.spec).length > 0) return null;
  return { ...wire, spec: knownPart(info, wire.spec) };
}

function sentByMeridian(kind: ZoneKind, row: TakenRow): WireResource | null {
  const info = findType(row.type);
  const wire = info === undefined ? null : onTheWire(info, row);
  if (info === undefined || wire === null) return null;
  const form = kind === 'meridian' ? { resource: wire } : toKumaForm(info, wire);
  return 'resource' in form ? { ...form.resource, spec: encoded(info, form.resource.spec) } : null;
}

function onTheWire(info: TypeInfo, row: TakenRow): WireResource | null {
  if (info.isInsight) return null;
  const time = new Date(0);
  const content = { ...row, status: {}, version: 0, creationTime: time, modificationTime: time };
  const resource: Resource = { ...content, owner: null, syncVersion: null };
  if (visibilityOf(rules, resource).visibility.to === 'none') return null;
  try {
    return rules.map(resource, info);
  } catch {
    // A signing key that cannot be read has no public part to send.
    return null;
  }
}

/** The spec without what a Kuma 3 and Meridian read over. */
function knownPart(info: TypeInfo, spec: JsonObject): JsonObject {
  return encoded(info, withoutOlderKeys(info, spec));
}

/** The spec as its message carries it. */
function encoded(info: TypeInfo, spec: JsonObject): JsonObject {
  try {
    return normalizeSpec(info, spec);
  } catch {
    return spec;
  }
}

function difference(row: TakenRow, why: string): Difference {
  return { type: row.type, mesh: row.mesh, name: displayNameOf(row), why };
}

function placesThatDiffer(before: Seen['wire'], after: Seen['wire']): string {
  const changes = runSteps(diffSteps({ ...before, labels: { ...before.labels } }, { ...after, labels: { ...after.labels } }));
  const places = changes.map(({ path }) => placeOf(path.split('/').slice(1)));
  const more = places.length - MAX_PLACES;
  return `${places.slice(0, MAX_PLACES).join(', ')}${more > 0 ? ` and ${String(more)} more` : ''}`;
}

/** `spec`, `to`, `0` → `spec.to[0]`. */
function placeOf(steps: readonly string[]): string {
  const [first = '', ...rest] = steps.map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
  return rest.reduce((place, step) => child(place, /^\d+$/.test(step) ? Number(step) : step), first);
}

function sorted(differences: readonly Difference[]): Difference[] {
  return differences.toSorted(
    (a, b) => compareText(a.type, b.type) || compareText(a.mesh, b.mesh) || compareText(a.name, b.name),
  );
}
