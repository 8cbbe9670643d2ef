// The good zones of a global while others misbehave: one that reads nothing, one that never answers, one that refuses everything
// and one that joins again and again. The same changes without them, before and after, in the same run, are what is compared.
import { endChild, nextMessage, startScript } from './children.ts';
import type { Context, Sections } from './context.ts';
import type { Manners } from './fake-zone.ts';
import type { JoinCommand, ZonesReport } from './fake-zones-process.ts';
import { Fleet } from './fleet.ts';
import { percentile } from './measure.ts';
import { budgets, type Metric } from './metric.ts';
import type { Settings } from './settings.ts';

const BAD: readonly Manners[] = ['deaf', 'silent', 'refusing', 'restless'];

export const neighbours: Sections<Settings> = {
  names: { neighbours: 'a change for good zones beside bad ones, against the same without them' },
  measure: measureNeighbours,
};

async function measureNeighbours({ settings, postgres, say }: Context<Settings>): Promise<Metric[]> {
  const { warmUp, neighbourChanges } = settings;
  const zones = Math.max(1, settings.zones - BAD.length);
  const fleet = await Fleet.meridian(await postgres(), { ...settings, zones });
  try {
    say(`${String(zones)} good zones join`);
    await fleet.join();
    const changes = async (count: number): Promise<number[]> => {
      const latencies: number[] = [];
      for (let done = 0; done < count; done += 1) latencies.push(await fleet.change());
      return latencies;
    };
    say('changes without bad zones');
    await changes(warmUp);
    const alone = await changes(neighbourChanges);
    const bad = await Promise.all(BAD.map((manners) => joinBad(fleet.kdsAddress, manners)));
    say(`changes beside ${BAD.join(', ')}`);
    await changes(warmUp);
    const beside = await changes(neighbourChanges);
    await Promise.all(bad.map(endChild));
    say('changes without them again');
    await changes(warmUp);
    alone.push(...(await changes(neighbourChanges)));
    const ratio = (share: number): number => percentile(beside, share) / percentile(alone, share);
    const section = 'neighbours';
    return [
      { section, name: 'change without bad zones, p50', unit: 'ms', meridian: percentile(alone, 0.5) },
      { section, name: 'change without bad zones, p99', unit: 'ms', meridian: percentile(alone, 0.99) },
      { section, name: 'beside four bad zones, p50', unit: '×', meridian: ratio(0.5) },
      { section, name: 'beside four bad zones, p99', unit: '×', meridian: ratio(0.99), budget: budgets.neighbourFactor },
    ];
  } finally {
    await fleet.stop();
  }
}

/** Resolves when the zone has joined and, if it reads at all, has its first states. */
async function joinBad(address: string, manners: Manners): Promise<ReturnType<typeof startScript>> {
  const child = startScript('fake-zones-process.ts');
  await nextMessage(child);
  child.send({ address, zones: [`bad-${manners}`], manners } satisfies JoinCommand);
  if (manners === 'deaf') return child;
  for (;;) {
    const report = await nextMessage<ZonesReport>(child);
    if (report.kind === 'failed') throw new Error(report.reason);
    if (report.kind === 'received') return child;
  }
}
