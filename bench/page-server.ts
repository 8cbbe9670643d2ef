// What an open page costs the global that it shows: CPU of the process with tabs against the same without them, at rest on each page and
// while the fleet gets a change each second. Several tabs at once make the noise of a tab small.
import { setTimeout as delay } from 'node:timers/promises';
import type { Browser, Page } from 'playwright-core';
import type { Context, Sections } from './context.ts';
import { FakeZones, fakeZoneName } from './fake-zones.ts';
import { startSeededGlobal } from './fleet.ts';
import { HttpClient } from './http-client.ts';
import { cpuNanoseconds, nowMs } from './measure.ts';
import type { Metric } from './metric.ts';
import { startChromium } from './page-browser.ts';
import { budgets, type PageSizes } from './page-sizes.ts';
import { MESH, policyBody, policyName, policyPath } from './policies.ts';
import { withDatabase } from './postgres.ts';
import { dataplaneWrite } from './zone-rows.ts';
import type { PostgresConfig } from '../src/store/database.ts';

/** After a page is open, before it counts. */
const SETTLE_MS = 1_000;
/** The same while something changes: a tab has then used up what it may request beyond its share. */
const SETTLE_CHANGING_MS = 8_000;
const CHANGE_MS = 1_000;
const PROXY = dataplaneWrite(0, 1);
const TIMEOUTS = 'resources/meshtimeouts';

/** Every page, with something on it. */
const PAGES: Readonly<Record<string, string>> = {
  Fleet: '',
  zone: `zones/${fakeZoneName(0)}`,
  Changes: 'changes',
  Resources: 'resources',
  'types by zone': 'resources?view=zones',
  'list of a type': TIMEOUTS,
  'type by zone': `${TIMEOUTS}/${MESH}`,
  resource: `${TIMEOUTS}/${MESH}/${policyName(0)}`,
  Proxies: 'proxies',
  proxy: `proxies/${MESH}/${PROXY.key.name}`,
  'What if': 'preview',
  Health: 'health',
};
/** Pages that an event makes ask again, and the one that most people leave open. */
const WHILE_CHANGING = ['Fleet', 'Changes', 'type by zone', 'resource'] as const;

export const openPages: Sections<PageSizes> = {
  names: { server: 'CPU of a global without a page, with each page open, and with a page while a policy changes each second' },
  measure: async (context) => await measureOpenPages(context),
};

async function measureOpenPages({ settings, postgres, say }: Context<PageSizes>): Promise<Metric[]> {
  const { zones: count, zonesPerProcess, resources, tabs, seconds } = settings;
  const global = await startSeededGlobal(await postgres(), resources);
  await addProxy(global.database);
  const zones = await FakeZones.start(count, zonesPerProcess);
  const browser = await startChromium();
  const changes = new Changes(global.apiPort, zones, resources);
  const address = `http://127.0.0.1:${String(global.apiPort)}/gui/`;
  /** Percent of a core that the process needs meanwhile. */
  const spend = async (): Promise<number> => {
    const before = { cpu: cpuNanoseconds(global.pid), at: nowMs() };
    await delay(seconds * 1_000);
    return (cpuNanoseconds(global.pid) - before.cpu) / 1e4 / (nowMs() - before.at);
  };
  const spendWith = async (path: string, size: number, settleMs = SETTLE_MS): Promise<number> => {
    const opened = await open(browser, `${address}${path}`, size);
    await delay(settleMs);
    const percent = await spend();
    await Promise.all(opened.map(async (page) => await page.close()));
    return percent;
  };
  const metric = (name: string, meridian: number, more: Partial<Metric> = {}): Metric => {
    return { section: 'server', name, unit: '%', meridian, ...more };
  };
  const part = (percent: number, without: number, size = tabs): number => Math.max(0, percent - without) / size;
  try {
    zones.join(global.kdsAddress, resources);
    await zones.received(resources);
    await warmUp(browser, address, changes);
    say('server: at rest, without a page');
    const rest = [await spend(), await spend()];
    const found = new Map<string, number>();
    for (const [name, path] of Object.entries(PAGES)) {
      say(`server: ${name}`);
      found.set(name, await spendWith(path, tabs));
    }
    rest.push(await spend());
    const without = mean(rest);
    const metrics = [
      metric('at rest without a page', without),
      metric('… noise, for one tab', (Math.max(...rest) - Math.min(...rest)) / 2 / tabs, { budget: budgets.noisePercent }),
      ...[...found].map(([name, percent]) => metric(`${name}, open`, part(percent, without), { budget: budgets.openPercent })),
    ];
    say('server: a change each second');
    const end = changes.begin();
    try {
      const writing = [await spend()];
      const open = new Map<string, number>();
      for (const name of WHILE_CHANGING) open.set(name, await spendWith(PAGES[name] ?? '', tabs, SETTLE_CHANGING_MS));
      const one = await spendWith('', 1, SETTLE_CHANGING_MS);
      writing.push(await spend());
      const base = mean(writing);
      const noise = Math.abs((writing[0] ?? 0) - (writing[1] ?? 0)) / 2 / tabs;
      metrics.push(metric(`${String(count)} zones, a change a second, without a page`, base));
      metrics.push(metric('… noise, for one tab', noise, { budget: budgets.noisePercent }));
      for (const [name, percent] of open)
        metrics.push(metric(`${name}, open while it changes`, part(percent, base), { budget: budgets.openPercent }));
      metrics.push(metric('the first tab, Fleet, open while it changes', part(one, base, 1)));
    } finally {
      await end();
    }
    return metrics;
  } finally {
    await browser.close();
    changes.close();
    await zones.end();
    await global.stop();
  }
}

/** Compiles what the measured time runs. */
async function warmUp(browser: Browser, address: string, changes: Changes): Promise<void> {
  for (let turn = 0; turn < 30; turn += 1) await changes.one();
  const opened = await Promise.all(Object.values(PAGES).map(async (path) => await open(browser, `${address}${path}`, 1)));
  for (let turn = 0; turn < 10; turn += 1) await changes.one();
  await Promise.all(opened.flat().map(async (page) => await page.close()));
}

async function open(browser: Browser, address: string, count: number): Promise<readonly Page[]> {
  const opened = Array.from({ length: count }, async () => {
    const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
    await page.goto(address);
    await page.locator('h1').first().waitFor();
    return page;
  });
  return await Promise.all(opened);
}

/** Changes of one policy after the other, each until all zones have it. */
class Changes {
  readonly #http: HttpClient;
  readonly #zones: FakeZones;
  readonly #resources: number;
  #revision = 0;

  constructor(port: number, zones: FakeZones, resources: number) {
    this.#http = new HttpClient(port);
    this.#zones = zones;
    this.#resources = resources;
  }

  async one(): Promise<void> {
    const revision = ++this.#revision;
    const index = revision % this.#resources;
    await this.#http.put(policyPath(index), policyBody(index, revision));
    await this.#zones.received(this.#resources + revision);
  }

  /** One each second. @returns ends it; rejects if a change failed */
  begin(): () => Promise<void> {
    const ended = new AbortController();
    const run = async (): Promise<void> => {
      while (!ended.signal.aborted) {
        const pause = delay(CHANGE_MS);
        await this.one();
        await pause;
      }
    };
    const running = run();
    running.catch(() => undefined);
    return async () => {
      ended.abort();
      await running;
    };
  }

  close(): void {
    this.#http.close();
  }
}

/** A Dataplane as a zone would send it, so that the pages of proxies have one. */
async function addProxy(database: PostgresConfig): Promise<void> {
  const { key } = PROXY;
  const spec = PROXY.op === 'put' ? PROXY.spec : {};
  const labels = {
    'kuma.io/display-name': key.name,
    'kuma.io/mesh': MESH,
    'kuma.io/origin': 'zone',
    'kuma.io/zone': fakeZoneName(0),
  };
  await withDatabase(database, async (client) => {
    await client.query(
      `insert into resources (type, mesh, name, version, spec, labels, owner_type, owner_mesh, owner_name)
       values ($1, $2, $3, 0, $4, $5, 'Mesh', '', $2)`,
      [key.type, key.mesh, key.name, JSON.stringify(spec), JSON.stringify(labels)],
    );
  });
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
