// The Dataplane that each DataplaneInsight belongs to (kds-wire 5.4.4). In its zone both have one name. On global a Dataplane
// with a namespace may have another one: the namespace is in its hash, and not every zone gives it to the insight. Pure.
import { hashName } from './hash-name.ts';
import { displayNameOf, label } from './labels.ts';
import { zoneNamed } from './ownership.ts';
import { storedNameOf } from './stored-name.ts';
import { nameText, type Resource, type ResourceKey } from './types.ts';

type Owner = Pick<Resource, 'mesh' | 'name' | 'labels'>;

/**
 * The stored names that the insight of a Dataplane may have, the surest first. The others are of zones whose insights have no labels:
 * the name with its namespace is that of a Meridian zone before 2026-11, the name alone that of a Universal zone of Kuma.
 */
export function insightNamesOf({ mesh, name, labels }: Owner): string[] {
  const namespace = labels[label.namespace] ?? '';
  if (namespace === '') return [name];
  const displayName = displayNameOf({ name, labels });
  const zone = zoneNamed(labels);
  const plain = [storedNameOf({ displayName, namespace }), displayName].map((text) => hashName({ mesh, name: text, zone }));
  return [...new Set([name, ...plain])];
}

/** The keys to read for `joinInsights`: of the insights, and of Dataplanes that may own one of them. */
export function insightKeysOf(dataplanes: readonly Owner[]): ResourceKey[] {
  return dataplanes.flatMap((row) =>
    insightNamesOf(row).flatMap((name, at) => [
      { type: 'DataplaneInsight', mesh: row.mesh, name },
      ...(at === 0 ? [] : [{ type: 'Dataplane', mesh: row.mesh, name }]),
    ]),
  );
}

/**
 * The insights of Dataplanes, by `nameText` of the Dataplane. An insight under the name of a Dataplane is of no other.
 * @param insights those of the Dataplanes, and perhaps others
 * @param others Dataplanes that may own one of the insights, besides `dataplanes`
 */
export function joinInsights(
  dataplanes: readonly Owner[],
  insights: readonly Resource[],
  others: readonly Owner[] = [],
): Map<string, Resource> {
  const found = new Map(insights.map((row) => [nameText(row), row]));
  const owners = new Set([...dataplanes, ...others].map(nameText));
  const joined = new Map<string, Resource>();
  for (const row of dataplanes) {
    const { mesh } = row;
    const insight = insightNamesOf(row)
      .filter((name) => name === row.name || !owners.has(nameText({ mesh, name })))
      .flatMap((name) => found.get(nameText({ mesh, name })) ?? [])[0];
    if (insight !== undefined) joined.set(nameText(row), insight);
  }
  return joined;
}
