// The good zones of a global while others misbehave: four at once that keep to no protocol, and one at a time that attacks; then the
// neighbours of heavy callers (heavy-callers.ts). The same changes without them, before and after, in the same run, are what is compared.
import { attacks, type Attack } from './attacks.ts';
import type { AttackCommand } from './attack-process.ts';
import { answerOf, endChild, startScript } from './children.ts';
import type { Context, Sections } from './context.ts';
import type { Manners } from '../test/fakes/fake-zone.ts';
import { fakeZoneName, FakeZones } from './fake-zones.ts';
import { Fleet } from './fleet.ts';
import { memoryMb, ratioOf, type Repeated } from './measure.ts';
import { heavySections, measureHeavyCallers } from './heavy-callers.ts';
import { budgets, metricsOf, type Budget, type Metric } from './metric.ts';
import type { Settings } from './settings.ts';

type Stop = () => Promise<void>;
/** @property begin starts the others, and resolves when they are at it */
type Phase = { readonly count: number; readonly budget: Budget; readonly begin: () => Promise<Stop> };

const BAD: readonly Manners[] = ['deaf', 'silent', 'refusing', 'restless'];
const SECTION = 'neighbours';
/** An attack that is later has failed. */
const BEGIN_MS = 120_000;
const metric = metricsOf(SECTION);

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
    say('changes without bad zones');
    let before = await fleet.changes({ warmUp, changes: neighbourChanges });
    const metrics: Metric[] = [
      metric('change without bad zones, p50', 'ms', before.p50Ms),
      metric('change without bad zones, p99', 'ms', before.p99Ms),
    ];
    /** The changes beside what `begin` starts, against those before and after it. */
    const measureBeside = async (name: string, { count, budget, begin }: Phase): Promise<Metric[]> => {
      say(`changes beside ${name}`);
      const end = await begin();
      let during: Repeated;
      let memory: number;
      try {
        say('  on its way');
        during = await fleet.changes({ warmUp: Math.min(warmUp, 20), changes: count });
        memory = memoryMb(fleet.pid);
      } finally {
        await end();
      }
      say('changes without it again');
      const after = await fleet.changes({ warmUp, changes: count });
      const alone = [...before.latencies, ...after.latencies];
      before = after;
      return [
        metric(`beside ${name}, p50`, '×', ratioOf(during.latencies, alone, 0.5)),
        metric(`beside ${name}, p99`, '×', ratioOf(during.latencies, alone, 0.99), { budget }),
        metric('… memory of global then', 'MB', memory),
      ];
    };
    const beside = async (name: string, phase: Phase): Promise<void> => {
      metrics.push(...(await part(`${SECTION} beside ${name}`, async () => await measureBeside(name, phase))));
    };
    const ofZones = { count: neighbourChanges, budget: budgets.neighbourFactor };
    await beside('four bad zones', { ...ofZones, begin: () => joinBad(fleet.kdsAddress, BAD) });
    await beside('a zone that joins every second', { ...ofZones, begin: () => joinBad(fleet.kdsAddress, ['restless']) });
    for (const [attack, name] of Object.entries(attacks) as [Attack, string][])
      await beside(name, {
        ...{ count: attackChanges, budget: budgets.attackFactor },
        begin: () => startAttack(fleet.kdsAddress, attack),
      });
    return metrics;
  } finally {
    await fleet.stop();
  }
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

async function startAttack(address: string, attack: Attack): Promise<Stop> {
  const child = startScript('attack-process.ts');
  await answerOf(child, { address, zone: attackerName(attack), attack } satisfies AttackCommand, BEGIN_MS);
  return () => endChild(child);
}

/** Resolves when the zones have joined and, if they read at all, have their first states. */
async function joinBad(address: string, all: readonly Manners[]): Promise<Stop> {
  const joined = await Promise.all(
    all.map(async (manners) => {
      const zones = await FakeZones.start([badName(manners)], 1);
      zones.join([address], { all: 0, manners });
      if (manners !== 'deaf') await zones.received(0);
      return zones;
    }),
  );
  return async () => void (await Promise.all(joined.map((zones) => zones.end())));
}
