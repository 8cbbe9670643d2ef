// What a frame of the page costs in a browser with a fleet that no machine has: CPU time of its main thread, by the trace of the browser,
// so that other programs matter little.
import type { Browser, Page } from 'playwright-core';
import type { ApiOptions } from '../src/api/api-options.ts';
import { about } from '../src/http/route-config.ts';
import { testApi } from '../test/api/test-api.ts';
import { COUNT, answerWithMatrix, summaryOf } from '../test/gui/fake-fleet.ts';
import { TinyStore } from '../test/support/tiny-store.ts';
import type { Context, Sections } from './context.ts';
import { percentile } from './measure.ts';
import { metricsOf, type Metric } from './metric.ts';
import { budgets, startChromium, type PageSizes } from './open-page.ts';

const FRAMES = 120;
const EVENT_MS = 250;

export const frames: Sections<PageSizes> = {
  names: { frames: 'CPU of a frame with 10,000 zones, while one scrolls and while zones change' },
  measure: async (context) => await measureFrames(context),
};

/** One of the trace: `tdur` is CPU time of its thread, all in microseconds. */
type TraceEvent = {
  readonly name: string;
  readonly ph: string;
  readonly pid: number;
  readonly tid: number;
  readonly ts: number;
  readonly tdur?: number;
};

/** @property until what must be there before the trace begins @property changing zones of each event, four events a second */
type Scene = {
  readonly name: string;
  readonly path?: string;
  readonly until?: string;
  readonly changing?: number;
  readonly play?: (page: Page) => Promise<void>;
};

const scrollBy = (selector: string, pixels: number) => async (page: Page) => {
  await page.evaluate(
    `new Promise((done) => {
      const frame = document.querySelector(${JSON.stringify(selector)});
      let left = ${String(FRAMES)};
      const step = () => { frame.scrollTop += ${String(pixels)}; left-- > 0 ? requestAnimationFrame(step) : done(); };
      requestAnimationFrame(step);
    })`,
  );
};
const rest = async (page: Page): Promise<void> => await page.waitForTimeout(40 * EVENT_MS);

const MATRIX = 'resources/meshtimeouts/default';
const SCENES: readonly Scene[] = [
  { name: 'fleet, scroll', play: scrollBy('.table', 300) },
  { name: 'fleet, 5 zones change', changing: 5 },
  { name: 'fleet, 200 zones change', changing: 200 },
  { name: 'fleet by lag, 200 zones change', path: '?sort=-lag', changing: 200 },
  { name: 'matrix, scroll', path: MATRIX, until: '.matrix .cell', play: scrollBy('.matrix', 120) },
];

let events: ((text: string) => void)[] = [];

const declared = about('Bench', 'An answer that is made up', { produces: ['text/event-stream'] });

/** The answers of a control plane with the fleet, and a stream of events that this process fills. */
const addRoutes: ApiOptions['addRoutes'] = (app) => {
  app.get('/zones/_summary', declared, async () => ({
    total: COUNT,
    items: Array.from({ length: COUNT }, (_, at) => summaryOf(at)),
  }));
  app.get('/_problems', declared, async () => ({ total: 0, items: [], next: null }));
  app.get('/_events', declared, (_request, reply) => {
    reply.hijack();
    reply.raw.writeHead(200, { 'content-type': 'text/event-stream' });
    reply.raw.write('event: resync\nid: a.0\ndata: {"reason":"started","instanceId":"cp-1"}\n\n');
    events.push((text) => void reply.raw.write(text));
  });
};

let sent = 0;

/** Every other event says that the zones are behind, the next that they are not. */
function tellOf(zones: number): void {
  sent += 1;
  const first = ((sent >> 1) * zones) % COUNT;
  const items = Array.from({ length: zones }, (_, at) => {
    const { name, since, version, refused, withheld } = summaryOf((first + at) % COUNT);
    const lagMs = sent % 2 === 0 ? 0 : 1_000 + at;
    const sync = { state: lagMs === 0 ? 'online' : 'lagging', connection: 'online', since, pending: [], lagMs, reason: '' };
    return { name, sync, enabled: true, refused, withheld, replica: 'cp-1', version, reason: '' };
  });
  for (const write of events) write(`event: zones\nid: a.${String(sent)}\ndata: ${JSON.stringify({ items })}\n\n`);
}

/** CPU of the main thread for each frame, in milliseconds: of all tasks since the last one, until the task that hands it over. */
function framesOf(trace: readonly TraceEvent[]): number[] {
  const isEnd = ({ name }: TraceEvent): boolean => name === 'Commit';
  const { pid, tid } = trace.find(isEnd) ?? { pid: 0, tid: 0 };
  const own = trace.filter((event) => event.pid === pid && event.tid === tid).toSorted((a, b) => a.ts - b.ts);
  const frames: number[] = [];
  let sum = 0;
  let isOver = false;
  for (const event of own) {
    if (isEnd(event)) isOver = true;
    if (event.name !== 'RunTask' || event.ph !== 'X') continue;
    if (isOver) {
      frames.push(sum);
      sum = 0;
      isOver = false;
    }
    sum += (event.tdur ?? 0) / 1_000;
  }
  return frames.slice(1);
}

async function measure(
  browser: Browser,
  address: string,
  { path = '', until = '[role=img]', changing = 0, play = rest }: Scene,
): Promise<number[]> {
  events = [];
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
  await answerWithMatrix(page);
  await page.goto(`${address}/gui/${path}`);
  await page.locator(until).first().waitFor();
  await page.waitForTimeout(1_000);
  const timer = changing === 0 ? undefined : setInterval(() => tellOf(changing), EVENT_MS);
  await page.waitForTimeout(1_000);
  await browser.startTracing(page, { categories: ['toplevel', 'devtools.timeline', 'disabled-by-default-devtools.timeline'] });
  await play(page);
  const trace = JSON.parse((await browser.stopTracing()).toString()) as { traceEvents: TraceEvent[] };
  clearInterval(timer);
  await page.close();
  return framesOf(trace.traceEvents);
}

async function measureFrames({ say }: Context<PageSizes>): Promise<Metric[]> {
  const api = testApi(new TinyStore(), 'global', { addRoutes });
  const address = await api.listen({ port: 0, host: '127.0.0.1' });
  const browser = await startChromium();
  const metric = metricsOf('frames');
  try {
    const metrics: Metric[] = [];
    for (const scene of SCENES) {
      say(`page: ${scene.name}`);
      const found = await measure(browser, address, scene);
      metrics.push(metric(`${scene.name}: CPU of a frame, p50`, 'ms', percentile(found, 0.5)));
      metrics.push(metric(`${scene.name}: … p95`, 'ms', percentile(found, 0.95), { budget: budgets.frameMs }));
    }
    return metrics;
  } finally {
    await browser.close();
    events = [];
    api.server.closeAllConnections();
    await api.close();
  }
}
