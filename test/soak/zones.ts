// The fake zones of a soak, over their processes.
import { Crew, parted } from '../../bench/crew.ts';
import { fakeZoneName } from '../../bench/fake-zones.ts';
import { chosenOf, sumOf, type ZonesState } from '../fakes/zone-states.ts';
import type { HeldByZone, ZoneCommand, ZoneReport } from './zones-process.ts';

/** Sums over all fake zones. */
export type ZoneCounts = Readonly<Record<'up' | 'failures' | 'refused' | 'refusedByPeer', number>>;

export type SoakZones = {
  /** The living replicas, for later connections. */
  readonly setAddresses: (addresses: readonly string[]) => void;
  readonly tell: (zone: number, kind: 'join' | 'leave' | 'refuse' | 'accept') => void;
  /** @param port null removes the service of the zone */
  readonly write: (zone: number, port: number | null) => void;
  readonly counts: () => ZoneCounts;
  readonly held: () => Promise<HeldByZone[]>;
  readonly end: () => Promise<void>;
};

/** @param onEnded a process ended by itself */
export async function startSoakZones(zones: number, perProcess: number, onEnded: (error: Error) => void): Promise<SoakZones> {
  const all = Array.from({ length: zones }, (_, index) => fakeZoneName(index));
  const crew = await Crew.start<ZoneCommand, ZoneReport>('../test/soak/zones-process.ts', parted(all, perProcess));
  const states: (ZonesState | null)[] = crew.parts.map(() => null);
  crew.listen((report, at) => {
    if (report.kind === 'state') states[at] = report;
  }, onEnded);
  /** Tells the process of that zone. */
  const tell = (command: ZoneCommand & { readonly zone: string }): void =>
    crew.tell((names) => (names.includes(command.zone) ? command : null));
  const sum = (key: 'failures' | 'refused' | 'refusedByPeer'): number =>
    states.reduce((total, state) => total + (state?.[key] ?? 0), 0);
  const total = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0);
  return {
    setAddresses: (addresses) => {
      const replicas = chosenOf(addresses, states);
      crew.tell(() => ({ kind: 'replicas', replicas }));
    },
    tell: (zone, kind) => tell({ kind, zone: fakeZoneName(zone) }),
    write: (zone, port) => tell({ kind: 'write', zone: fakeZoneName(zone), port }),
    counts: () => ({
      up: total(Object.values(sumOf(states.map((state) => state?.up ?? {})))),
      ...{ failures: sum('failures'), refused: sum('refused'), refusedByPeer: sum('refusedByPeer') },
    }),
    held: async () => {
      const heldBy = (report: ZoneReport): readonly HeldByZone[] | null => (report.kind === 'held' ? report.zones : null);
      return (await crew.each(() => ({ kind: 'held' }), heldBy)).flat();
    },
    end: () => crew.end(),
  };
}
