// The REST API of a global under load, without zones; the client has its own process but shares the machine.
import type { Context } from './context.ts';
import { endChild, nextMessage, startScript } from './children.ts';
import { startSeededGlobal } from './fleet.ts';
import type { LoadCommand, LoadReport } from './http-load-process.ts';
import { budgets, type Metric } from './metric.ts';

const WARM_UP_SECONDS = 1.5;

export async function measureRest({ settings, postgres, say }: Context): Promise<Metric[]> {
  const { resources, restSeconds: seconds } = settings;
  const global = await startSeededGlobal(postgres, resources);
  const client = startScript('http-load-process.ts');
  const load = async (kind: LoadCommand['kind'], connections: number): Promise<{ perSecond: number; p99Ms: number }> => {
    say(`REST: ${kind} on ${String(connections)} connections for ${String(seconds)} s`);
    const { apiPort: port } = global;
    const command: LoadCommand = { kind, port, connections, resources, warmUpSeconds: WARM_UP_SECONDS, seconds };
    client.send(command);
    const report = await nextMessage<LoadReport>(client);
    if ('failure' in report) throw new Error(`REST ${kind}: ${report.failure}`);
    return report;
  };
  try {
    const get = await load('get', 8);
    const page = await load('page', 8);
    const put = await load('put', 64);
    const section = 'rest';
    return [
      { section, name: 'PUT, 64 connections', unit: '/s', meridian: put.perSecond, budget: budgets.putsPerSecond },
      { section, name: 'PUT, 64 connections, p99', unit: 'ms', meridian: put.p99Ms, budget: budgets.putP99Ms },
      { section, name: 'GET of one, 8 connections', unit: '/s', meridian: get.perSecond, budget: budgets.getsPerSecond },
      {
        ...{ section, name: `GET of 100 of ${String(resources)}, 8 connections`, unit: '/s' },
        ...{ meridian: page.perSecond, budget: budgets.pagesPerSecond },
      },
    ];
  } finally {
    await endChild(client);
    await global.stop();
  }
}
