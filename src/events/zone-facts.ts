// The facts about a zone, without two parts of its insight that no reader needs: its configuration, and old counts. Pure.
import { subscriptionsOf } from '../resource/online-status.ts';
import { objectOf } from '../resource/read-json.ts';
import type { JsonObject, Resource } from '../resource/types.ts';
import { profileOf, type ZoneProfile } from '../resource/zone-profile.ts';
import type { LiveLag } from '../kds/sender/open-senders.ts';
import { peerVersionOf } from '../zone-status/peer-version.ts';
import { zoneSync, type ZoneSync } from '../zone-status/zone-sync.ts';

/** The parts of a zone's rows that describe its state. */
export type ZoneFacts = {
  readonly name: string;
  readonly isEnabled: boolean;
  readonly profile: ZoneProfile;
  /** Times and instances of its subscriptions and its stream, and its status. */
  readonly insight: { readonly spec: JsonObject; readonly status: JsonObject };
  /** The version of the zone's control plane, from its described subscription; null if unknown. */
  readonly version: string | null;
};

/** @param insight undefined for a zone that has never connected */
export function zoneFacts(zone: Resource, insight: Resource | undefined): ZoneFacts {
  const subscriptions = subscriptionsOf(insight?.spec ?? {});
  const kept = subscriptions.map(({ connectTime, disconnectTime, globalInstanceId, zoneInstanceId, version }) => ({
    ...(connectTime !== undefined && { connectTime }),
    ...(disconnectTime !== undefined && { disconnectTime }),
    ...(globalInstanceId !== undefined && { globalInstanceId }),
    ...(zoneInstanceId !== undefined && { zoneInstanceId }),
    ...(version !== undefined && { version }),
  }));
  const profile = profileOf(zone);
  return {
    name: zone.name,
    isEnabled: profile.isEnabled,
    profile,
    insight: { spec: { subscriptions: kept, kdsStreams: streamsOf(insight?.spec ?? {}) }, status: insight?.status ?? {} },
    version: peerVersionOf(insight?.spec ?? {})?.version ?? null,
  };
}

/** The instance of global with the stream to the zone. */
function streamsOf({ kdsStreams }: JsonObject): JsonObject {
  const { globalInstanceId } = objectOf(objectOf(kdsStreams)['globalToZone']);
  return globalInstanceId === undefined ? {} : { globalToZone: { globalInstanceId } };
}

/** @param live the lag by the stream in this process; undefined without one */
export function syncOf({ name, isEnabled, insight }: ZoneFacts, live: LiveLag, now: Date): ZoneSync {
  return zoneSync({ name, isEnabled }, insight, live, now);
}
