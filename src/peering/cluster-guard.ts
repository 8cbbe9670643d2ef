// Protects a zone against a wrong global that would empty it (engine 14). The zone saves the first cluster id that it receives. It
// applies no changes of a global with another id until a person accepts that id.
import type { Clock } from '../base/clock.ts';
import { MeridianError } from '../base/errors.ts';
import type { Admission } from '../kds/receiver/receiver.ts';
import { clusterIdKey as key } from '../defaults/create-defaults.ts';
import { recordRefusal } from './peer-identity.ts';
import type { ResourceStore } from '../store/resource-store.ts';
import { isFromGlobal } from '../resource/ownership.ts';
import { textOf } from '../resource/read-json.ts';

/**
 * The verdict of a zone on the cluster id of a global (Config `kuma-cluster-id`). `first`: no id is stored, so store it and continue;
 * `same`: continue; `other`: stop with an error, store and prune nothing.
 * @param known the id from an earlier global; null without one. An id that the zone created itself does not count
 * @param offered the id of this global; an empty one is `other` if an id is known
 */
export function decideCluster(known: string | null, offered: string): 'first' | 'same' | 'other' {
  if (known === null || known === '') return 'first';
  return known === offered ? 'same' : 'other';
}

/**
 * The check of a global before the zone requests other types: the global must have the cluster id of the zone. Null for a zone
 * without a cluster id.
 */
export async function clusterAdmission(store: ResourceStore, address: string, clock: Clock): Promise<Admission | null> {
  const row = await store.get(key);
  const known = row === undefined || !isFromGlobal(row) ? '' : textOf(row.spec['config']);
  if (known === '') return null;
  return {
    type: key.type,
    async check(configs) {
      const offered = textOf(configs.find(({ name }) => name === key.name)?.spec['config']);
      if (decideCluster(known, offered) !== 'other') return;
      const current = await store.get(key);
      if (current !== undefined) await recordRefusal(store, current, offered, clock.now());
      throw new MeridianError(
        'forbidden',
        `the global at ${address} is of cluster ${JSON.stringify(offered)}, and this zone belongs to ${JSON.stringify(known)}: ` +
          'nothing of it was stored, and nothing here was removed. Correct multizone.zone.globalAddress. If this is the new ' +
          'global of the zone, accept it on the zone: meridian zone accept-global. What it does not have in its meshes is then removed here',
      );
    },
  };
}
