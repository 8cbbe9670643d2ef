// The zones with their present state, for answers about sync and about ways to a service.
import type { Clock } from '../base/clock.ts';
import { compareText } from '../base/compare-text.ts';
import type { JsonObject } from '../resource/types.ts';
import { profileOf, type ZoneProfile } from '../resource/zone-profile.ts';
import type { ResourceStore } from '../store/resource-store.ts';
import { zoneSync, type LagOf, type ZoneSync } from '../zone-status/zone-sync.ts';

/** `insight`: spec and status of the ZoneInsight. */
export type ZoneNow = {
  readonly name: string;
  readonly isEnabled: boolean;
  readonly profile: ZoneProfile;
  readonly insight: { readonly spec: JsonObject; readonly status: JsonObject };
  readonly sync: ZoneSync;
};

/** All zones by name. A zone control plane has only its own row; its state there is that of its connection to global. */
export async function zonesNow(store: ResourceStore, lagOf: LagOf, clock: Clock): Promise<ZoneNow[]> {
  const [zones, insights] = await Promise.all([store.list({ type: 'Zone' }), store.list({ type: 'ZoneInsight' })]);
  const known = new Map(insights.map((row) => [row.name, row]));
  return zones
    .map((row) => {
      const { name } = row;
      const profile = profileOf(row);
      const { isEnabled } = profile;
      const { spec: seen = {}, status = {} } = known.get(name) ?? {};
      const insight = { spec: seen, status };
      const sync = zoneSync({ name, isEnabled }, insight, lagOf(name), clock.now());
      return { name, isEnabled, profile, insight, sync };
    })
    .sort((a, b) => compareText(a.name, b.name));
}
