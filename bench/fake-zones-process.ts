// A process with fake zones: each joins, leaves and refuses by command. It says where they are and what they have, whenever that changes.
import { report, takeCommands } from './commands.ts';
import { FakeZone, type Manners } from '../test/fakes/fake-zone.ts';
import { ZoneStates, type Replicas, type ZonesState } from '../test/fakes/zone-states.ts';

export type ZonesCommand =
  /** @property all MeshTimeouts of a full state */
  | {
      readonly kind: 'join';
      readonly zones: readonly string[];
      readonly replicas: Replicas;
      readonly manners: Manners;
      readonly remembers: boolean;
      readonly all: number;
    }
  /** The replicas, and how many zones of all processes each has. */
  | { readonly kind: 'replicas'; readonly replicas: Replicas }
  | { readonly kind: 'drop' }
  | { readonly kind: 'digest' };

export type ZonesReport =
  | { readonly kind: 'up' | 'dropped' }
  | ZonesState
  /** A zone that counts had all and lost its connection: it is sent the same again, and no count is right any more. */
  | { readonly kind: 'failed'; readonly zone: string }
  | { readonly kind: 'digests'; readonly digests: readonly string[] };

/** How long a restless zone stays, in milliseconds. */
const STAY_MS = 1_000;

const states = new ZoneStates();
const { zones, changed, choose } = states;

takeCommands((command: ZonesCommand): ZonesReport | undefined => {
  if ('replicas' in command) states.replicas = command.replicas;
  switch (command.kind) {
    case 'join': {
      const { manners, remembers, all } = command;
      const open = (): FakeZone[] =>
        command.zones.map((name) => {
          const mayConnect = (received: number): boolean => {
            if (remembers || received < all) return true;
            report({ kind: 'failed', zone: name } satisfies ZonesReport);
            return false;
          };
          return new FakeZone({ name, manners, remembers, choose, changed, mayConnect });
        });
      states.all = all;
      zones.push(...open());
      for (const zone of zones) zone.join();
      if (manners === 'restless') setInterval(() => rejoin(open()), STAY_MS);
      return undefined;
    }
    case 'replicas':
      return undefined;
    case 'drop':
      for (const zone of zones) zone.drop();
      states.report();
      return { kind: 'dropped' };
    case 'digest':
      return { kind: 'digests', digests: [...new Set(zones.map((zone) => zone.digest()))] };
  }
});
report({ kind: 'up' });

/** A restless zone is another one each time: it has counted nothing. */
function rejoin(next: readonly FakeZone[]): void {
  for (const zone of zones.splice(0, zones.length, ...next)) zone.leave();
  for (const zone of next) zone.join();
}
