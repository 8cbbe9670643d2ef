// The fake zones of a soak, over their processes.
import type { ChildProcess } from 'node:child_process';
import { endChild, nextMessage, startScript } from '../children.ts';
import { fakeZoneName } from '../fake-zones.ts';
import type { HeldByZone, ZoneCommand, ZoneCounts, ZoneReport } from './zones-process.ts';

type Member = { readonly child: ChildProcess; counts: ZoneCounts };

const NOTHING: ZoneCounts = { up: 0, connectionsLost: 0, refused: 0, refusedByGlobal: 0 };

export type SoakZones = {
  /** The living replicas, for later connections. */
  readonly setAddresses: (addresses: readonly string[]) => void;
  readonly join: (zone: number) => void;
  readonly leave: (zone: number) => void;
  readonly refuse: (zone: number, isRefusing: boolean) => void;
  /** @param port null removes the service of the zone */
  readonly write: (zone: number, port: number | null) => void;
  readonly counts: () => ZoneCounts;
  readonly held: () => Promise<HeldByZone[]>;
  readonly end: () => Promise<void>;
};

/** @param onEnded a process ended by itself */
export async function startSoakZones(zones: number, perProcess: number, onEnded: (error: Error) => void): Promise<SoakZones> {
  let isEnding = false;
  const members = Array.from({ length: Math.ceil(zones / perProcess) }, (): Member => {
    const child = startScript('soak/zones-process.ts');
    const member: Member = { child, counts: NOTHING };
    child.on('message', (report: ZoneReport) => {
      if (report.kind === 'counts') member.counts = report.counts;
    });
    child.once('exit', () => {
      if (!isEnding) onEnded(new Error('a process of fake zones ended by itself'));
    });
    return member;
  });
  await Promise.all(members.map(({ child }) => nextMessage(child)));
  const send = ({ child }: Member, command: ZoneCommand): void => {
    if (child.connected) child.send(command);
  };
  const tell = (zone: number, command: ZoneCommand): void => {
    const member = members[Math.floor(zone / perProcess)];
    if (member !== undefined) send(member, command);
  };
  return {
    setAddresses: (addresses) => members.forEach((member) => send(member, { kind: 'addresses', addresses })),
    join: (zone) => tell(zone, { kind: 'join', zone: fakeZoneName(zone) }),
    leave: (zone) => tell(zone, { kind: 'leave', zone: fakeZoneName(zone) }),
    refuse: (zone, isRefusing) => tell(zone, { kind: 'refuse', zone: fakeZoneName(zone), isRefusing }),
    write: (zone, port) => tell(zone, { kind: 'write', zone: fakeZoneName(zone), port }),
    counts: () => members.reduce((sum, { counts }) => added(sum, counts), NOTHING),
    held: async () => (await Promise.all(members.map(askHeld))).flat(),
    async end() {
      isEnding = true;
      await Promise.all(members.map(({ child }) => endChild(child)));
    },
  };
}

async function askHeld({ child }: Member): Promise<readonly HeldByZone[]> {
  return await new Promise((resolve, reject) => {
    const onExit = (): void => reject(new Error('a process of fake zones ended before it said what they hold'));
    const take = (report: ZoneReport): void => {
      if (report.kind !== 'held') return;
      child.off('message', take).off('exit', onExit);
      resolve(report.zones);
    };
    child.on('message', take).once('exit', onExit);
    child.send({ kind: 'held' } satisfies ZoneCommand);
  });
}

function added(one: ZoneCounts, other: ZoneCounts): ZoneCounts {
  return {
    up: one.up + other.up,
    connectionsLost: one.connectionsLost + other.connectionsLost,
    refused: one.refused + other.refused,
    refusedByGlobal: one.refusedByGlobal + other.refusedByGlobal,
  };
}
