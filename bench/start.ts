// A global starts with many resources in its database: seconds until it is ready, and its memory then.
import { setTimeout as delay } from 'node:timers/promises';
import type { Context, Sections } from './context.ts';
import { startSeededGlobal } from './fleet.ts';
import { memoryMb } from './measure.ts';
import type { Metric } from './metric.ts';
import type { Settings } from './settings.ts';

export const start: Sections<Settings> = {
  names: { start: 'a global with many resources, from start to ready' },
  measure: measureStart,
};

async function measureStart({ settings, postgres, say }: Context<Settings>): Promise<Metric[]> {
  const count = String(settings.startResources);
  const server = await postgres();
  say(`a global starts with ${count} MeshTimeouts`);
  const global = await startSeededGlobal(server, settings.startResources);
  try {
    await delay(1_000);
    return [
      { section: 'start', name: `start with ${count} MeshTimeouts`, unit: 's', meridian: global.startSeconds },
      { section: 'start', name: 'memory then', unit: 'MB', meridian: memoryMb(global.pid) },
    ];
  } finally {
    await global.stop();
  }
}
