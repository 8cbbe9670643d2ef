// Reads a MeshIdentity: whether it is ready, the proxies that it selects, and the SPIFFE ID of each. Pure.
import { renderTemplate, replaceActions } from './templates/go-template.ts';
import { label } from './labels.ts';
import { homeZoneOf } from './ownership.ts';
import { isObject, objectOf, objectsOf, textMapOf, textOf } from './read-json.ts';
import type { Labels, Resource } from './types.ts';

const DEFAULT_TRUST_DOMAIN = '{{ .Mesh }}.{{ .Zone }}.mesh.local';
const DEFAULT_PATH = '/workload/{{ .Workload }}';
const SERVICE_ACCOUNT = 'k8s.kuma.io/service-account';
const FIELD_LABELS: Readonly<Record<string, string>> = {
  '.Namespace': label.namespace,
  '.ServiceAccount': SERVICE_ACCOUNT,
  '.Workload': label.workload,
};

/** `matchLabels` of the Dataplanes; null selects none. */
export type MeshIdentity = { readonly matchLabels: Labels | null; readonly trustDomain: string; readonly path: string };

/**
 * The reasons of Ready=False with which proxies still have the identity. Kuma writes PartiallyReady when its provider works for
 * some of them. An authority that cannot sign must not lead to plain text. Without a MeshTrust of it, which it gets when it can
 * sign, no proxy has TLS.
 */
const IN_FORCE_REASONS: ReadonlySet<unknown> = new Set([
  ...['PartiallyReady', 'AuthorityExpired', 'AuthorityNotYetValid'],
  ...['AuthorityIncomplete', 'AuthorityUnreadable', 'AuthorityUnusable'],
]);

/** Whether proxies have it: its condition Ready is True, or False for a reason that leaves it in force. */
export function isMeshIdentityReady({ status }: Pick<Resource, 'status'>): boolean {
  return objectsOf(status['conditions']).some(
    ({ type, status: state, reason }) => type === 'Ready' && (state === 'True' || IN_FORCE_REASONS.has(reason)),
  );
}

/** The MeshIdentity as if it were ready. */
export function asReady(row: Resource): Resource {
  return { ...row, status: { conditions: [{ type: 'Ready', status: 'True', reason: 'Ready', message: '' }] } };
}

/** A MeshIdentity that is not ready selects no proxy. */
export function parseMeshIdentity(row: Pick<Resource, 'spec' | 'status'>): MeshIdentity {
  const dataplane = objectOf(objectOf(row.spec['selector'])['dataplane']);
  const { trustDomain, path } = objectOf(row.spec['spiffeID']);
  const selects = isMeshIdentityReady(row) && isObject(dataplane['matchLabels']);
  return {
    matchLabels: selects ? textMapOf(dataplane['matchLabels']) : null,
    trustDomain: textOf(trustDomain) || DEFAULT_TRUST_DOMAIN,
    path: textOf(path) || DEFAULT_PATH,
  };
}

/** The trust domain of all proxies of a zone. It is null where the template needs more than mesh and zone. */
export function trustDomainOf({ trustDomain }: Pick<MeshIdentity, 'trustDomain'>, mesh: string, zone: string): string | null {
  const rendered = renderTemplate(trustDomain, { fields: { Mesh: mesh, Zone: zone }, labels: {} });
  return 'text' in rendered && rendered.text !== '' ? rendered.text : null;
}

export function selectsProxy({ matchLabels }: MeshIdentity, labels: Labels): boolean {
  return matchLabels !== null && Object.entries(matchLabels).every(([key, value]) => labels[key] === value);
}

/**
 * The labels of a Dataplane that decide its SPIFFE ID: those that the templates name, and those by which the MeshIdentity selects it. With
 * the workload in the ID the latter choose among identities of that workload alone, and decide nothing.
 */
export function decidingLabels({ matchLabels, trustDomain, path }: MeshIdentity): string[] {
  const named = new Set<string>();
  replaceActions(`${trustDomain}${path}`, (action) => {
    const [, quoted, raw] = /^label\s+(?:"([^"]+)"|`([^`]+)`)$/.exec(action) ?? [];
    const key = quoted ?? raw ?? FIELD_LABELS[action];
    if (key !== undefined) named.add(key);
    return '';
  });
  return [...named, ...(named.has(label.workload) ? [] : Object.keys(matchLabels ?? {}))];
}

/**
 * The SPIFFE ID of a proxy. It is null where a template needs a value that the proxy lacks, as in Kuma: no segment stays empty.
 * @param labels the labels of the Dataplane
 * @param zone the zone of the control plane, for a Dataplane without a zone label
 */
export function spiffeIdOf({ trustDomain, path }: MeshIdentity, labels: Labels, mesh: string, zone: string): string | null {
  const values: Record<string, string | undefined> = {
    Mesh: mesh,
    Zone: homeZoneOf({ labels }, zone),
    Namespace: labels[label.namespace],
    ServiceAccount: labels[SERVICE_ACCOUNT],
    Workload: labels[label.workload],
  };
  const fields = Object.fromEntries(
    Object.entries(values).flatMap(([key, value]) => (value === undefined || value === '' ? [] : [[key, value]])),
  );
  const rendered = renderTemplate(`spiffe://${trustDomain}${path}`, { fields, labels });
  return 'text' in rendered ? rendered.text : null;
}
