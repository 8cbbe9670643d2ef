// The good zones of a global while others misbehave: four at once that keep to no protocol, and one at a time that attacks; then the
// neighbours of heavy callers (heavy-callers.ts). The same changes without them, before and after, in the same run, are what is compared.
import type { ChildProcess } from 'node:child_process';
import { attacks, type Attack } from './attacks.ts';
import type { AttackCommand } from './attack-process.ts';
import { endChild, nextMessage, startScript } from './children.ts';
import type { Context, Sections } from './context.ts';
import type { Manners } from './fake-zone.ts';
import type { JoinCommand, ZonesReport } from './fake-zones-process.ts';
import { fakeZoneName } from './fake-zones.ts';
import { Fleet } from './fleet.ts';
import { cpuSeconds, memoryMb, nowMs, percentile } from './measure.ts';
import { heavySections, measureHeavyCallers } from './heavy-callers.ts';
import { budgets, type Metric } from './metric.ts';
import type { Settings } from './settings.ts';

/** Changes one after the other: the milliseconds of each, and the CPU of global in all of them. */
type Changes = { readonly latencies: readonly number[]; readonly cpuMs: number };

const BAD: readonly Manners[] = ['deaf', 'silent', 'refusing', 'restless'];
const SECTION = 'neighbours';
/** An attack that is later has failed. */
const BEGIN_MS = 120_000;

export const neighbours: Sections<Settings> = {
  names: { [SECTION]: 'a change for good zones beside bad ones, and beside all heavy callers', ...heavySections },
  measure: async (context, wanted) => [
    ...(wanted.has(SECTION) ? await context.part(SECTION, async () => await measureNeighbours(context)) : []),
    ...(await measureHeavyCallers(context, wanted)),
  ],
};

async function measureNeighbours({ settings, postgres, say, part }: Context<Settings>): Promise<Metric[]> {
  const { warmUp, neighbourChanges, attackChanges } = settings;
  const zones = Math.max(1, settings.zones - BAD.length);
  const fleet = await Fleet.meridian(await postgres(), { ...settings, zones }, onlyFor(zones));
  try {
    say(`${String(zones)} good zones join`);
    await fleet.join();
    const changes = async (count: number): Promise<Changes> => {
      const latencies: number[] = [];
      const cpuBefore = cpuSeconds(fleet.pid);
      for (let done = 0; done < count; done += 1) latencies.push(await fleet.change());
      return { latencies, cpuMs: (cpuSeconds(fleet.pid) - cpuBefore) * 1000 };
    };
    const quiet = async (count: number): Promise<Changes> => {
      await changes(warmUp);
      return await changes(count);
    };
    say('changes without bad zones');
    let before = await quiet(neighbourChanges);
    const metrics: Metric[] = [
      { section: SECTION, name: 'change without bad zones, p50', unit: 'ms', meridian: percentile(before.latencies, 0.5) },
      { section: SECTION, name: 'change without bad zones, p99', unit: 'ms', meridian: percentile(before.latencies, 0.99) },
    ];
    type Phase = { readonly count: number; readonly budget: Metric['budget']; readonly begin: () => Promise<ChildProcess[]> };
    /** The changes beside what `begin` starts, against those before and after it. */
    const measureBeside = async (name: string, { count, budget, begin }: Phase): Promise<Metric[]> => {
      say(`changes beside ${name}`);
      const began = nowMs();
      const bad = await begin();
      const besideBad = async (): Promise<Changes & { readonly memory: number }> => {
        say(`  on its way after ${((nowMs() - began) / 1000).toFixed(1)} s`);
        await changes(Math.min(warmUp, 20));
        return { ...(await changes(count)), memory: memoryMb(fleet.pid) };
      };
      let during: Changes & { readonly memory: number };
      try {
        during = await besideBad();
      } finally {
        await Promise.all(bad.map(endChild));
      }
      say('changes without it again');
      const after = await quiet(count);
      const alone = merged(before, after);
      before = after;
      const ratio = (share: number): number => percentile(during.latencies, share) / percentile(alone.latencies, share);
      return [
        { section: SECTION, name: `beside ${name}, p50`, unit: '×', meridian: ratio(0.5) },
        { section: SECTION, name: `beside ${name}, p99`, unit: '×', meridian: ratio(0.99), ...(budget && { budget }) },
        { section: SECTION, name: '… CPU of global for a change then', unit: '×', meridian: cpuOfOne(during) / cpuOfOne(alone) },
        { section: SECTION, name: '… memory of global then', unit: 'MB', meridian: during.memory },
      ];
    };
    const beside = async (name: string, phase: Phase): Promise<void> => {
      metrics.push(...(await part(`${SECTION} beside ${name}`, async () => await measureBeside(name, phase))));
    };
    const joinBadZones = (all: readonly Manners[]): Promise<ChildProcess[]> =>
      Promise.all(all.map((manners) => joinBad(fleet.kdsAddress, manners)));
    const ofZones = { count: neighbourChanges, budget: budgets.neighbourFactor };
    await beside('four bad zones', { ...ofZones, begin: () => joinBadZones(BAD) });
    await beside('a zone that joins every second', { ...ofZones, begin: () => joinBadZones(['restless']) });
    for (const [attack, name] of Object.entries(attacks) as [Attack, string][])
      await beside(name, {
        ...{ count: attackChanges, budget: budgets.attackFactor },
        begin: async () => [await startAttack(fleet.kdsAddress, attack)],
      });
    return metrics;
  } finally {
    await fleet.stop();
  }
}

/** Milliseconds of CPU of global for each, and for whatever it did meanwhile. */
function cpuOfOne({ latencies, cpuMs }: Changes): number {
  return cpuMs / latencies.length;
}

function merged(some: Changes, others: Changes): Changes {
  return { latencies: [...some.latencies, ...others.latencies], cpuMs: some.cpuMs + others.cpuMs };
}

/** The configuration of a global that lets these zones in by their names, and asks others for a token. */
function onlyFor(zones: number): Record<string, string> {
  const names = [
    ...Array.from({ length: zones }, (_, index) => fakeZoneName(index)),
    ...BAD.map(badName),
    ...Object.keys(attacks).map((attack) => attackerName(attack as Attack)),
  ];
  return {
    MERIDIAN_MULTIZONE_GLOBAL_KDS_AUTH_TYPE: 'zoneToken',
    MERIDIAN_MULTIZONE_GLOBAL_KDS_AUTH_ALLOW_WITHOUT_TOKEN: names.join(','),
  };
}

function badName(manners: Manners): string {
  return `bad-${manners}`;
}

function attackerName(attack: Attack): string {
  return `attacker-${attack}`;
}

async function startAttack(address: string, attack: Attack): Promise<ChildProcess> {
  const child = startScript('attack-process.ts');
  await nextMessage(child);
  child.send({ address, zone: attackerName(attack), attack } satisfies AttackCommand);
  await nextMessage(child, BEGIN_MS);
  return child;
}

/** Resolves when the zone has joined and, if it reads at all, has its first states. */
async function joinBad(address: string, manners: Manners): Promise<ChildProcess> {
  const child = startScript('fake-zones-process.ts');
  await nextMessage(child);
  child.send({ address, zones: [badName(manners)], manners, all: 0 } satisfies JoinCommand);
  if (manners === 'deaf') return child;
  for (;;) {
    const report = await nextMessage<ZonesReport>(child);
    if (report.kind === 'failed') throw new Error(report.reason);
    if (report.kind === 'received') return child;
  }
}
