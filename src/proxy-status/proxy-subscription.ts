// One DiscoverySubscription: the life of one stream of a proxy, and its proto3 JSON (xds 1, kds-wire 4).
import { textMapOf, objectOf, textOf } from '../resource/read-json.ts';
import { storablePart } from '../resource/storable-text.ts';
import type { JsonObject } from '../resource/types.ts';
import type { XdsType } from '../ads/session-messages.ts';
import type { OwnSubscription } from '../subscriptions/merge-subscriptions.ts';
import { renderCounts, RunningCounts, totalOf, withoutZeros } from '../subscriptions/response-counts.ts';

export type ProxySubscription = {
  /** The id of the stream. */
  readonly id: string;
  /** The control plane that serves the stream. */
  readonly instanceId: string;
  readonly connectTime: Date;
  readonly disconnectTime: Date | null;
  /** The versions of its programs, as the proxy reports them: any JSON. */
  readonly version: JsonObject;
  /** The counts change in place. */
  readonly counts: RunningCounts;
  readonly generation: number;
};

/** The fields of the status. Secrets and filters have none, and count in the total. */
const FIELDS: Partial<Record<string, string>> = {
  Cluster: 'cds',
  ClusterLoadAssignment: 'eds',
  Listener: 'lds',
  RouteConfiguration: 'rds',
} satisfies Partial<Record<XdsType, string>>;
/** The number of characters of a version that are kept. */
const MAX_TEXT = 200;
const MAX_DEPENDENCIES = 50;

export function openSubscription(id: string, instanceId: string, version: JsonObject, now: Date): ProxySubscription {
  return { id, instanceId, connectTime: now, disconnectTime: null, version, counts: new RunningCounts(), generation: 0 };
}

export function isLive({ disconnectTime }: ProxySubscription): boolean {
  return disconnectTime === null;
}

export function ownSubscription(one: ProxySubscription): OwnSubscription {
  return { id: one.id, isLive: isLive(one), row: render(one) };
}

function render(one: ProxySubscription): JsonObject {
  return withoutZeros({
    id: one.id,
    controlPlaneInstanceId: one.instanceId,
    connectTime: one.connectTime.toISOString(),
    disconnectTime: one.disconnectTime?.toISOString() ?? '',
    status: renderStatus(one),
    version: renderVersion(one.version),
    generation: one.generation,
  });
}

function renderStatus({ counts: { all, lastAt } }: ProxySubscription): JsonObject {
  const empty = { cds: {}, eds: {}, lds: {}, rds: {} };
  const types = Object.entries(all).flatMap(([type, of]) => {
    const field = FIELDS[type];
    return field === undefined ? [] : [[field, renderCounts(of)] as const];
  });
  return {
    ...(lastAt !== null && { lastUpdateTime: lastAt.toISOString() }),
    total: renderCounts(totalOf(all)),
    ...empty,
    ...Object.fromEntries(types),
  };
}

/** Keep known fields alone: with others global could not read the insight. */
function renderVersion(version: JsonObject): JsonObject {
  const dependencies = Object.entries(textMapOf(version['dependencies'])).slice(0, MAX_DEPENDENCIES);
  return {
    kumaDp: renderProgram(version['kumaDp'], ['version', 'gitTag', 'gitCommit', 'buildDate'], 'kumaCpCompatible'),
    envoy: renderProgram(version['envoy'], ['version', 'build'], 'kumaDpCompatible'),
    ...(dependencies.length > 0 && {
      dependencies: Object.fromEntries(dependencies.map(([key, text]) => [bound(key), bound(text)])),
    }),
  };
}

function renderProgram(value: unknown, texts: readonly string[], flag: string): JsonObject {
  const given = objectOf(value);
  const known = texts.map((key) => [key, bound(textOf(given[key]))] as const);
  return withoutZeros({ ...Object.fromEntries(known), [flag]: given[flag] === true });
}

function bound(text: string): string {
  return storablePart(text, MAX_TEXT);
}
