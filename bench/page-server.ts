// What an open page costs the global that it shows: CPU of the process with tabs against the same without them, at rest on each page and
// while the fleet gets a change each second. Many tabs at once make the noise of a tab small. What the first page makes the process follow
// goes on for a minute after the last, so it counts for the first tab alone.
import { setTimeout as delay } from 'node:timers/promises';
import type { Browser, Page } from 'playwright-core';
import type { Context, Sections } from './context.ts';
import { FakeZones, fakeZoneName } from './fake-zones.ts';
import { startSeededGlobal } from './fleet.ts';
import { HttpClient } from './http-client.ts';
import { cpuNanoseconds, nowMs, percentile } from './measure.ts';
import type { Metric } from './metric.ts';
import { startChromium } from './page-browser.ts';
import { budgets, type PageSizes } from './page-sizes.ts';
import { MESH, policyBody, policyName, policyPath } from './policies.ts';
import { withDatabase } from './postgres.ts';
import { dataplaneWrite } from './zone-rows.ts';
import { LINGER_MS } from '../src/events/event-hub.ts';
import type { PostgresConfig } from '../src/store/database.ts';

/** After the tabs of a page are open, before they count: the last of many still load. */
const SETTLE_MS = 4_000;
/** The same after they are closed. */
const CLOSED_MS = 1_000;
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
  names: {
    server: 'CPU of a global without a page, and with each page open, in turns',
    changing: 'the same while a policy changes each second',
  },
  measure: measureOpenPages,
};

async function measureOpenPages({ settings, postgres, say }: Context<PageSizes>, wanted: ReadonlySet<string>): Promise<Metric[]> {
  const { zones: count, zonesPerProcess, resources } = settings;
  const global = await startSeededGlobal(await postgres(), resources);
  await addProxy(global.database);
  const zones = await FakeZones.start(count, zonesPerProcess);
  const browser = await startChromium();
  const changes = new Changes(global.apiPort, zones, resources);
  const address = `http://127.0.0.1:${String(global.apiPort)}/gui/`;
  try {
    zones.join(global.kdsAddress, resources);
    await zones.received(resources);
    await warmUp(browser, address, changes);
    const watched = { pid: global.pid, browser, address, settings, say };
    const metrics: Metric[] = [];
    if (wanted.has('server')) metrics.push(...(await measureAtRest(watched)));
    if (wanted.has('changing')) {
      const end = changes.begin();
      try {
        metrics.push(...(await measureChanging(watched)));
      } finally {
        await end();
      }
    }
    return metrics;
  } finally {
    await browser.close();
    changes.close();
    await zones.end();
    await global.stop();
  }
}

/** The process that is measured, and what its page is opened with. */
type Watched = {
  readonly pid: number;
  readonly browser: Browser;
  readonly address: string;
  readonly settings: PageSizes;
  readonly say: (text: string) => void;
};

async function measureAtRest(watched: Watched): Promise<Metric[]> {
  const { settings, say } = watched;
  say('server: until nothing follows the fleet for a page');
  await delay(LINGER_MS + SETTLE_MS);
  const alone: number[] = [];
  const first: number[] = [];
  for (let turn = 0; turn < settings.turns; turn += 1) alone.push(await percentOf(watched));
  const opened = await open(watched, '', 1);
  await delay(SETTLE_MS);
  for (let turn = 0; turn < settings.turns; turn += 1) first.push(await percentOf(watched));
  await close(opened);
  const { of, noise } = await alternate(watched, 'server', PAGES, SETTLE_MS);
  const without = percentile(alone, 0.5);
  return [
    { section: 'server', name: 'at rest without a page', unit: '%', meridian: without, spread: spreadOf(alone) },
    {
      ...{ section: 'server', name: 'the first tab, Fleet, open', unit: '%' },
      ...{ meridian: percentile(first, 0.5) - without, spread: spreadOf(first.map((percent) => percent - without)) },
    },
    { section: 'server', name: '… noise, for one tab', unit: '%', meridian: noise, budget: budgets.noisePercent },
    ...[...of].map(([name, values]) => tabMetric('server', `${name}, open`, values)),
  ];
}

async function measureChanging(watched: Watched): Promise<Metric[]> {
  const pages = Object.fromEntries(WHILE_CHANGING.map((name) => [name, PAGES[name] ?? '']));
  const { of, noise, without } = await alternate(watched, 'changing', pages, SETTLE_CHANGING_MS);
  const name = `${String(watched.settings.zones)} zones, a change a second, without a page`;
  return [
    { section: 'changing', name, unit: '%', meridian: percentile(without, 0.5), spread: spreadOf(without) },
    { section: 'changing', name: '… noise, for one tab', unit: '%', meridian: noise, budget: budgets.noisePercent },
    ...[...of].map(([page, values]) => tabMetric('changing', `${page}, open while it changes`, values)),
  ];
}

/**
 * The pages one after the other, with a time without a page before and after each: a page is compared with both, so that what drifts in the
 * process counts for neither.
 * @returns for each page the percents of a core for one tab; and the same of a time without a page, against its neighbours
 */
async function alternate(
  watched: Watched,
  section: string,
  pages: Readonly<Record<string, string>>,
  settleMs: number,
): Promise<{ readonly of: ReadonlyMap<string, number[]>; readonly without: readonly number[]; readonly noise: number }> {
  const { settings, say } = watched;
  const { tabs, turns } = settings;
  const of = new Map(Object.keys(pages).map((name): [string, number[]] => [name, []]));
  const without = [await percentOf(watched)];
  for (let turn = 1; turn <= turns; turn += 1)
    for (const [name, path] of Object.entries(pages)) {
      say(`${section}: ${name}, ${String(turn)} of ${String(turns)}`);
      const opened = await open(watched, path, tabs);
      await delay(settleMs);
      const percent = await percentOf(watched);
      await close(opened);
      await delay(CLOSED_MS);
      without.push(await percentOf(watched));
      of.get(name)?.push((percent - mean(without.slice(-2))) / tabs);
    }
  const apart = without.slice(1, -1).map((percent, at) => {
    const [before = percent, after = percent] = [without[at], without[at + 2]];
    return Math.abs(percent - mean([before, after])) / tabs;
  });
  return { of, without, noise: percentile(apart, 0.5) };
}

function tabMetric(section: string, name: string, values: readonly number[]): Metric {
  const meridian = Math.max(0, percentile(values, 0.5));
  return { section, name, unit: '%', meridian, spread: spreadOf(values), budget: budgets.openPercent };
}

function spreadOf(values: readonly number[]): NonNullable<Metric['spread']> {
  return [Math.min(...values), Math.max(...values)];
}

/** Percent of a core that the process needs for the time of a measurement. */
async function percentOf({ pid, settings }: Watched): Promise<number> {
  const before = { cpu: cpuNanoseconds(pid), at: nowMs() };
  await delay(settings.seconds * 1_000);
  return (cpuNanoseconds(pid) - before.cpu) / 1e4 / (nowMs() - before.at);
}

/** Compiles what the measured time runs. */
async function warmUp(browser: Browser, address: string, changes: Changes): Promise<void> {
  for (let turn = 0; turn < 30; turn += 1) await changes.one();
  const opened = await Promise.all(Object.values(PAGES).map(async (path) => await open({ browser, address }, path, 1)));
  for (let turn = 0; turn < 10; turn += 1) await changes.one();
  await close(opened.flat());
}

async function close(pages: readonly Page[]): Promise<void> {
  await Promise.all(pages.map(async (page) => await page.close()));
}

async function open({ browser, address }: Pick<Watched, 'browser' | 'address'>, path: string, count: number): Promise<Page[]> {
  const opened = Array.from({ length: count }, async () => {
    const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
    await page.goto(`${address}${path}`);
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
