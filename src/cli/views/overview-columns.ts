// The columns of `inspect zones`, `inspect dataplanes` and `inspect meshes`: overviews and insights (rest-api 3 and 6). Pure.
// Invariant: the columns that are not wide fit 80 columns.
import { visibleLine } from '../../base/visible-text.ts';
import { displayNameOf, label } from '../../resource/labels.ts';
import { describedSubscription, isOnline, proxyStatus, subscriptionsOf } from '../../resource/online-status.ts';
import { objectOf, textOf } from '../../resource/read-json.ts';
import { resourceTypes, SERVICE_TYPES } from '../../resource/type-registry.ts';
import type { JsonObject } from '../../resource/types.ts';
import type { Answer } from '../../answers/answers.ts';
import type { Item } from '../client/api-client.ts';
import { ageOf } from '../output.ts';
import { tlsCell } from './mesh-tls-text.ts';
import { NAMESPACE } from './columns.ts';
import type { Column } from './table.ts';

type Insight = NonNullable<Answer<'ZoneOverview'>['zoneInsight']>;
type Subscription = NonNullable<Insight['subscriptions']>[number];

export const ZONE_COLUMNS: readonly Column[] = [
  { head: 'NAME', of: ({ name }) => name },
  { head: 'STATUS', of: zoneStatus },
  { head: 'MESHES', of: meshesText },
  { head: 'SINCE', of: (item) => ageOf(syncOf(item).since) },
  { head: 'LAG', of: (item) => lagText(syncOf(item).lagMs) },
  { head: 'PENDING', of: (item) => pendingText(syncOf(item).pending) },
  { head: 'UPDATED', wide: true, of: (item) => ageOf(describedOf(item).status?.lastUpdateTime) },
  { head: 'UPDATES', wide: true, of: (item) => sumOf(item, 'responsesSent') },
  { head: 'ERRORS', of: (item) => sumOf(item, 'responsesRejected') },
  { head: 'VERSION', of: (item) => describedOf(item).version?.kumaCp?.version ?? '-' },
  { head: 'PROXIES', wide: true, of: ({ proxies }) => (proxies === undefined ? '-' : onlineText(objectOf(proxies))) },
  { head: 'STORE', wide: true, of: (item) => storeOf(describedOf(item).config) },
];

export const DATAPLANE_COLUMNS: readonly Column[] = [
  { head: 'MESH', of: ({ mesh = '' }) => mesh },
  NAMESPACE,
  { head: 'NAME', of: displayNameOf },
  { head: 'ZONE', of: ({ labels }) => labels?.[label.zone] ?? '-' },
  { head: 'STATUS', of: dataplaneStatus },
  { head: 'CONNECTED', of: known((item) => ageOf(describedOf(item).connectTime)) },
  { head: 'UPDATES', wide: true, of: known((item) => sumOf(item, 'responsesSent')) },
  { head: 'ERRORS', of: known((item) => sumOf(item, 'responsesRejected')) },
  { head: 'UPDATED', wide: true, of: known((item) => ageOf(describedOf(item).status?.lastUpdateTime)) },
  { head: 'ADDRESS', wide: true, of: (item) => textOf(networkingOf(item)['address']) || '-' },
  { head: 'CERT EXPIRES', wide: true, of: (item) => textOf(certificateOf(item)['certificateExpirationTime']) || '-' },
  { head: 'CERT BACKEND', wide: true, of: (item) => textOf(certificateOf(item)['issuedBackend']) || '-' },
  { head: 'KUMA-DP', wide: true, of: (item) => describedOf(item).version?.kumaDp?.version ?? '-' },
  { head: 'ENVOY', wide: true, of: (item) => describedOf(item).version?.envoy?.version ?? '-' },
  { head: 'STORED NAME', wide: true, of: ({ name }) => name },
];

/** The number of reasons below a table. */
const MAX_REASONS = 5;

const POLICIES = resourceTypes.filter(({ policy }) => policy !== null).map(({ name }) => name);

export const MESH_COLUMNS: readonly Column[] = [
  { head: 'MESH', of: ({ name }) => name },
  { head: 'DATAPLANES', of: ({ dataplanes }) => onlineText(objectOf(dataplanes)) },
  { head: 'SERVICES', of: (item) => totalOf(item, SERVICE_TYPES) },
  { head: 'POLICIES', of: (item) => totalOf(item, POLICIES) },
  { head: 'TLS', of: tlsCell },
  { head: 'DEGRADED', wide: true, of: (item) => proxiesOf(item, 'partiallyDegraded') },
  { head: 'RESOURCES', wide: true, of: (item) => totalOf(item, Object.keys(objectOf(item['resources']))) },
];

/**
 * The changes that a zone has not confirmed, or the reason why it is not connected; then its sync problems and warnings. A peer's
 * text stays on its line, or in the indented lines of its message.
 */
export function problemLines(item: Item): string[] {
  const { syncProblems = [], warnings = [] } = item as unknown as Answer<'ZoneOverview'>;
  const { reason } = syncOf(item);
  const state = reason === '' ? [] : ['', visibleLine(reason)];
  const problems = syncProblems.flatMap(({ stream, type, kind, resources, count, message }) => {
    const names = resources.length === 0 ? 'all' : visibleLine(resources.join(', '));
    const more = count > resources.length ? ` and ${String(count - resources.length)} more` : '';
    const way = stream === 'globalToZone' ? `global → ${item.name}` : `${item.name} → global`;
    const what = kind === 'suspected' ? `refused: at least one of ${String(count)}` : kind;
    return ['', `${way}: ${visibleLine(type)} ${what}: ${names}${more}`, ...message.split('\n').map((line) => `  ${line}`)];
  });
  return [...state, ...problems, ...warnings.flatMap((warning) => ['', visibleLine(warning)])];
}

const ZONE_STATUS = { online: 'Online', lagging: 'Lagging', refused: 'Refused', offline: 'Offline', disabled: 'Disabled' };

function zoneStatus(item: Item): string {
  return ZONE_STATUS[syncOf(item).state];
}

type ZoneSync = Answer<'ZoneOverview'>['sync'];

/** The state from the control plane. An older one says only whether the zone is connected and enabled. */
function syncOf(item: Item): ZoneSync {
  const { sync } = item as unknown as Partial<Answer<'ZoneOverview'>>;
  if (sync !== undefined) return sync;
  const connection = isOnline(objectOf(item['zoneInsight'])) ? 'online' : 'offline';
  const state = objectOf(item['zone'])['enabled'] === false ? 'disabled' : connection;
  return { state, connection, since: describedOf(item).connectTime ?? null, pending: [], lagMs: 0, reason: '' };
}

/** The mesh of which a zone is a member, or the number of its meshes. */
function meshesText({ zone }: Item): string {
  const { meshes } = objectOf(zone);
  if (!Array.isArray(meshes) || meshes.length === 0) return 'all';
  return meshes.length === 1 ? textOf(meshes[0]) : `${String(meshes.length)} meshes`;
}

/** `340ms`, `12s`, `5m`; `-` for a zone that is current. */
function lagText(lagMs: number): string {
  if (lagMs === 0) return '-';
  return lagMs < 1_000 ? `${String(lagMs)}ms` : ageOf(new Date(0).toISOString(), lagMs);
}

function pendingText(types: readonly string[]): string {
  const [first] = types;
  return first === undefined ? '-' : types.length === 1 ? first : `${String(types.length)} types`;
}

const STATUS = { online: 'Online', offline: 'Offline', partiallyDegraded: 'Partially degraded' };

export function dataplaneStatus(item: Item): string {
  const { dataplane, dataplaneInsight } = item;
  return isUnknown(item) ? 'Unknown' : STATUS[proxyStatus(objectOf(dataplane), objectOf(dataplaneInsight))];
}

/** The reasons why nothing is known of some of these proxies here, each once. */
export function unknownLines(items: readonly Item[]): string[] {
  const reasons = new Set(items.filter(isUnknown).map(({ insightUnknown }) => visibleLine(textOf(insightUnknown))));
  const shown = [...reasons].slice(0, MAX_REASONS);
  const more = reasons.size > shown.length ? [`and ${String(reasons.size - shown.length)} more zones`] : [];
  return shown.length === 0 ? [] : ['', ...shown, ...more];
}

/** A cell that is `-` where nothing is known of the proxy. */
function known(of: (item: Item) => string): Column['of'] {
  return (item) => (isUnknown(item) ? '-' : of(item));
}

function isUnknown({ insightUnknown }: Item): boolean {
  return textOf(insightUnknown) !== '';
}

/** The subscription that describes the present state. */
function describedOf(item: Item): Subscription {
  return (describedSubscription(subscriptionsOf(insightOf(item))) ?? {}) as Subscription;
}

/** 64-bit counts are strings in proto3 JSON. */
function sumOf(item: Item, key: 'responsesSent' | 'responsesRejected'): string {
  const subscriptions = subscriptionsOf(insightOf(item)) as readonly Subscription[];
  return String(subscriptions.reduce((total, { status }) => total + Number(status?.total?.[key] ?? 0), 0));
}

function insightOf({ zoneInsight, dataplaneInsight }: Item): JsonObject {
  return objectOf(zoneInsight ?? dataplaneInsight);
}

function networkingOf({ dataplane }: Item): JsonObject {
  return objectOf(objectOf(dataplane)['networking']);
}

function certificateOf({ dataplaneInsight }: Item): JsonObject {
  return objectOf(objectOf(dataplaneInsight)['mTLS']);
}

function storeOf(config: string | undefined): string {
  try {
    return (JSON.parse(config ?? '') as { store?: { type?: string } }).store?.type ?? '-';
  } catch {
    return '-';
  }
}

/** `2/3` are online; `2+?/5`: of some it is not known here. */
function onlineText({ online = 0, total = 0, unknown = 0 }: JsonObject): string {
  const known = unknown === total && total !== 0 ? '?' : `${String(online)}${unknown === 0 ? '' : '+?'}`;
  return `${known}/${String(total)}`;
}

function proxiesOf({ dataplanes }: Item, key: 'partiallyDegraded'): string {
  return String(Number(objectOf(dataplanes)[key] ?? 0));
}

function totalOf({ resources }: Item, types: readonly string[]): string {
  return String(types.reduce((sum, type) => sum + Number(objectOf(objectOf(resources)[type])['total'] ?? 0), 0));
}
