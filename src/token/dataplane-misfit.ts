// The permissions of the token of a proxy: to be a Dataplane, with its roles, and to have the identity of its labels (xds 1,
// 6). Pure. Invariant: what the proxy chose itself counts as little as what a stranger says; an administrator who wrote the
// Dataplane is believed, but for its workload, which the token names always.
import { isLabelOfProxy, rolesOfProxy } from '../resource/brought-parts.ts';
import { label } from '../resource/labels.ts';
import type { ProxyDataplane } from '../resource/proxy-permit.ts';
import { objectOf, textMapOf } from '../resource/read-json.ts';
import type { Labels, Resource } from '../resource/types.ts';
import { zoneRolesOf, type ZoneRole } from '../resource/zone-listeners.ts';
import { quote } from './quoted-text.ts';
import type { DataplaneClaims } from './token-claims.ts';

const ROLE_LABELS: Readonly<Record<ZoneRole, string>> = {
  ingress: label.listenerZoneIngress,
  egress: label.listenerZoneEgress,
};

/**
 * The reason why a good token does not allow a Dataplane, as a predicate after «the token …»; null if it does. A Dataplane with a workload
 * needs a token that names it, and one that makes itself a zone proxy a token with the role.
 */
export function misfitOf(claims: DataplaneClaims, dataplane: ProxyDataplane): string | null {
  const { labels, spec } = dataplane;
  const other = otherNameIn(claims, dataplane);
  if (other !== null) return other;
  const workload = labels[label.workload] ?? '';
  if (claims.workload !== workload) {
    const own =
      workload === '' ? `the Dataplane has no label ${label.workload}` : `the Dataplane is of workload ${quote(workload)}`;
    return claims.workload === '' ? `names no workload, and ${own}` : `is for workload ${quote(claims.workload)}, and ${own}`;
  }
  return roleMisfit(claims, dataplane) ?? tagMisfit(claims.tags, tagsOf({ labels, spec }));
}

export function otherNameIn(claims: DataplaneClaims, { mesh, name }: Pick<ProxyDataplane, 'mesh' | 'name'>): string | null {
  if (claims.mesh !== mesh) return `is for mesh ${quote(claims.mesh)}`;
  if (claims.name !== '' && claims.name !== name) return `is for Dataplane ${quote(claims.name)}`;
  return null;
}

/**
 * The reason why a token does not allow the identity that these labels decide. The token vouches for the workload, and for a
 * namespace by the name.
 */
export function identityMisfitOf(claims: DataplaneClaims, dataplane: ProxyDataplane, keys: readonly string[]): string | null {
  const open = openLabels(claims, dataplane, keys);
  if (open.length === 0) return null;
  const shown = open.map(([key, value]) => quote(`${key}=${value}`)).join(', ');
  return `has no tag ${shown}: this label decides the SPIFFE ID, and the proxy chose it`;
}

/** The options that a token needs beside mesh, name and workload for what the proxy chose. */
export function neededOptions(claims: DataplaneClaims, dataplane: ProxyDataplane, keys: readonly string[] = []): string {
  const roles = rolesOfProxy(dataplane);
  const [role] = roles;
  const ofRoles =
    role !== undefined && roles.length === 1 ? [`--type ${role}`] : roles.map((one) => `--tag ${ROLE_LABELS[one]}=enabled`);
  const ofLabels = openLabels(claims, dataplane, keys).map(([key, value]) => `--tag ${key}=${value}`);
  return [...ofRoles, ...ofLabels].map((option) => ` ${option}`).join('');
}

function openLabels(
  { name, tags }: DataplaneClaims,
  dataplane: ProxyDataplane,
  keys: readonly string[],
): (readonly [key: string, value: string])[] {
  return keys.flatMap((key) => {
    const value = dataplane.labels[key];
    if (value === undefined || key === label.workload || !isLabelOfProxy(dataplane, key)) return [];
    if (key === label.namespace && name !== '') return [];
    return tags[key]?.includes(value) === true ? [] : [[key, value] as const];
  });
}

function roleMisfit({ type, tags }: DataplaneClaims, dataplane: ProxyDataplane): string | null {
  const isOfRole = type === 'ingress' || type === 'egress';
  const has: readonly string[] = zoneRolesOf(dataplane.spec);
  if (type !== '' && type !== 'dataplane' && !(isOfRole && has.includes(type))) return `is for a proxy of type ${quote(type)}`;
  const missing = rolesOfProxy(dataplane).find((role) => role !== type && tags[ROLE_LABELS[role]]?.includes('enabled') !== true);
  if (missing === undefined) return null;
  return `is not for a zone ${missing}, and the proxy brings a Dataplane with the listener of one`;
}

/** The reason why a Dataplane lacks a tag of the token, or has other values of it. */
function tagMisfit(allowed: DataplaneClaims['tags'], tags: ReadonlyMap<string, ReadonlySet<string>>): string | null {
  for (const [key, values] of Object.entries(allowed)) {
    const own = tags.get(key);
    if (own === undefined) return `asks for tag ${quote(key)}, and no inbound and no label of the Dataplane has it`;
    const other = [...own].find((value) => !values.includes(value));
    if (other !== undefined)
      return `allows tag ${quote(key)} the values ${values.map(quote).join(', ')}, and the Dataplane has ${quote(other)}`;
  }
  return null;
}

/** The tags of all inbounds and of the gateway, and the labels, each with all of its values. */
function tagsOf({
  labels,
  spec,
}: {
  readonly labels: Labels;
  readonly spec: Resource['spec'];
}): ReadonlyMap<string, ReadonlySet<string>> {
  const { inbound, gateway } = objectOf(spec['networking']);
  const tags = new Map<string, Set<string>>();
  const add = ([key, value]: [string, string]): unknown => tags.set(key, (tags.get(key) ?? new Set()).add(value));
  for (const section of [...(Array.isArray(inbound) ? inbound : []), gateway])
    Object.entries(textMapOf(objectOf(section)['tags'])).forEach(add);
  Object.entries(labels).forEach(add);
  return tags;
}
