// What an open page costs the global that it shows, while the fleet gets a change each second: CPU of the process with tabs against the same
// without them. Many tabs at once make the noise of a tab small. A page at rest asks for nothing, and costs less.
import { setTimeout as delay } from 'node:timers/promises';
import type { Browser, Page } from 'playwright-core';
import type { Context, Say, Sections } from './context.ts';
import { FakeZones } from './fake-zones.ts';
import { startSeededGlobal } from './fleet.ts';
import { HttpClient } from './http-client.ts';
import { cpuNanoseconds, nowMs, percentile } from './measure.ts';
import { metricsOf, type Metric } from './metric.ts';
import { budgets, startChromium, type PageSizes } from './open-page.ts';
import { MESH, policyBody, policyName, policyPath } from './policies.ts';

/** After the tabs of a page are open, before they count: a tab has then used up what it may request beyond its share. */
const SETTLE_MS = 8_000;
/** Between two changes, and after the tabs are closed. */
const CHANGE_MS = 1_000;
/** Changes that compile what the measured time runs. */
const WARM_UP = 30;
const TIMEOUTS = `resources/meshtimeouts/${MESH}`;

/** Pages that an event makes ask again, and the one that most people leave open. */
const PAGES: Readonly<Record<string, string>> = {
  ...{ Fleet: '', Changes: 'changes', 'type by zone': TIMEOUTS, resource: `${TIMEOUTS}/${policyName(0)}` },
};

export const openPages: Sections<PageSizes> = {
  names: { changing: 'CPU of a global without a page, and with each page open, in turns, while a policy changes each second' },
  measure: measureOpenPages,
};

/** The process that is measured, and what its page is opened with. */
type Watched = {
  readonly pid: number;
  readonly browser: Browser;
  readonly address: string;
  readonly settings: PageSizes;
  readonly say: Say;
};

async function measureOpenPages({ settings, postgres, say }: Context<PageSizes>): Promise<Metric[]> {
  const { zones: count, zonesPerProcess, resources } = settings;
  const global = await startSeededGlobal(await postgres(), resources);
  const zones = await FakeZones.start(count, zonesPerProcess);
  const browser = await startChromium();
  const http = new HttpClient(global.apiPort);
  let revision = 0;
  /** One policy, until all zones have it. */
  const change = async (): Promise<void> => {
    revision += 1;
    const index = revision % resources;
    await http.put(policyPath(index), policyBody(index, revision));
    await zones.received(resources + revision);
  };
  const ended = new AbortController();
  const watched = { pid: global.pid, browser, address: `http://127.0.0.1:${String(global.apiPort)}/gui/`, settings, say };
  try {
    zones.join([global.kdsAddress], { all: resources });
    await zones.received(resources);
    for (let turn = 0; turn < WARM_UP; turn += 1) await change();
    for (const path of Object.values(PAGES)) await close(await open(watched, path, 1));
    const changing = (async () => {
      while (!ended.signal.aborted) await Promise.all([change(), delay(CHANGE_MS)]);
    })();
    const measured = alternate(watched).finally(() => ended.abort());
    // The first that fails ends both.
    await Promise.all([measured, changing]);
    return await measured;
  } finally {
    ended.abort();
    await browser.close();
    http.close();
    await zones.end();
    await global.stop();
  }
}

/**
 * The pages one after the other, with a time without a page before and after each: a page is compared with both, so that what drifts in the
 * process counts for neither. The noise is that of a time without a page, against its neighbours.
 */
async function alternate(watched: Watched): Promise<Metric[]> {
  const { settings, say } = watched;
  const { tabs, turns } = settings;
  const of = new Map(Object.keys(PAGES).map((name): [string, number[]] => [name, []]));
  const without = [await percentOf(watched)];
  for (let turn = 1; turn <= turns; turn += 1)
    for (const [name, path] of Object.entries(PAGES)) {
      say(`changing: ${name}, ${String(turn)} of ${String(turns)}`);
      const opened = await open(watched, path, tabs);
      await delay(SETTLE_MS);
      const percent = await percentOf(watched);
      await close(opened);
      await delay(CHANGE_MS);
      without.push(await percentOf(watched));
      of.get(name)?.push((percent - mean(without.slice(-2))) / tabs);
    }
  const apart = without.slice(1, -1).map((percent, at) => {
    const [before = percent, after = percent] = [without[at], without[at + 2]];
    return Math.abs(percent - mean([before, after])) / tabs;
  });
  const metric = metricsOf('changing');
  const alone = `${String(settings.zones)} zones, a change a second, without a page`;
  return [
    metric(alone, '%', percentile(without, 0.5), { spread: spreadOf(without) }),
    metric('… noise, for one tab', '%', percentile(apart, 0.5), { budget: budgets.noisePercent }),
    ...[...of].map(([name, values]) => {
      const more = { spread: spreadOf(values), budget: budgets.openPercent };
      return metric(`${name}, open while it changes`, '%', Math.max(0, percentile(values, 0.5)), more);
    }),
  ];
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

async function close(pages: readonly Page[]): Promise<void> {
  await Promise.all(pages.map(async (page) => await page.close()));
}

async function open({ browser, address }: Watched, path: string, count: number): Promise<Page[]> {
  const opened = Array.from({ length: count }, async () => {
    const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
    await page.goto(`${address}${path}`);
    await page.locator('h1').first().waitFor();
    return page;
  });
  return await Promise.all(opened);
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
