// What the page does when an answer fails, or does not come.
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { FastifyInstance } from 'fastify';
import { about } from '../../src/http/route-config.ts';
import { testApi } from '../api/test-api.ts';
import { TinyStore } from '../support/tiny-store.ts';
import { openBrowser, type Browser } from './browser.ts';
import { nameOf, summaryOf } from './fake-fleet.ts';

let api: FastifyInstance;
let browser: Browser;
let address: string;

const START = 'event: resync\nid: a.0\ndata: {"reason":"started","instanceId":"cp-1"}\n\n';
const NO_PROBLEMS = { json: { total: 0, items: [], next: null } };
const ONE_ZONE = { json: { total: 1, items: [summaryOf(0)] } };

beforeAll(async () => {
  api = testApi(new TinyStore(), 'global', {
    addRoutes: (app) => {
      // After its start it is silent.
      app.get('/_events', about('Test', 'Events of the test', { produces: ['text/event-stream'] }), (_request, reply) => {
        reply.hijack();
        reply.raw.writeHead(200, { 'content-type': 'text/event-stream' });
        reply.raw.write(START);
      });
    },
  });
  address = await api.listen({ port: 0, host: '127.0.0.1' });
  browser = await openBrowser();
});

afterAll(async () => {
  await browser.close();
  api.server.closeAllConnections();
  await api.close();
});

it('a page asks again after an answer 503 without an event', async () => {
  let isDown = true;
  const { page } = await browser.open(`${address}/gui/`, async (opened) => {
    await opened.route('**/_problems?*', async (route) => route.fulfill(NO_PROBLEMS));
    await opened.route('**/zones/_summary', async (route) => {
      const down = { status: 503, json: { title: 'Service unavailable', detail: 'the store does not answer' } };
      await route.fulfill(isDown ? down : ONE_ZONE);
    });
  });
  await page.getByRole('alert').getByText('the store does not answer').waitFor();
  // By now its stream has begun: no event comes any more.
  await page.waitForTimeout(2_000);
  isDown = false;
  await page.getByRole('link', { name: nameOf(0) }).waitFor();
  await page.getByRole('alert').waitFor({ state: 'detached' });
  await page.close();
});

it('a page says that its first answer was 429, and asks again', async () => {
  let isRefused = true;
  const { page } = await browser.open(`${address}/gui/health`, async (opened) => {
    await opened.route(
      (url) => url.pathname === '/',
      async (route) => {
        if (!isRefused) return await route.continue();
        await route.fulfill({ status: 429, json: { title: 'Too many requests', detail: 'too many requests of this address' } });
      },
    );
  });
  await page.getByRole('alert').getByText('too many requests of this address').waitFor();
  isRefused = false;
  await page.getByRole('heading', { name: 'Health' }).waitFor();
  await page.close();
});

it('a page that cannot show an answer says so, and shows it when the answer has another form', async () => {
  // An older or newer replica may have another form.
  let isStrange = true;
  const { page } = await browser.open(`${address}/gui/health`, async (opened) => {
    await opened.route('**/_problems?*', async (route) => route.fulfill(NO_PROBLEMS));
    await opened.route('**/_replicas', async (route) =>
      route.fulfill({ json: { leader: 'cp-1', replicas: isStrange ? [null] : [] } }),
    );
  });
  await page.getByRole('alert').getByText('cannot show the answer of the control plane').waitFor();
  // The rest of the window is there.
  await page.getByRole('link', { name: 'Fleet' }).waitFor();
  isStrange = false;
  await page.getByRole('button', { name: 'Show again' }).click();
  await page.getByRole('heading', { name: 'Replicas of this control plane' }).waitFor();
  await page.close();
});

it('a page says that the control plane does not answer when its connection is silent', async () => {
  let isDead = false;
  let asked = 0;
  const { page } = await browser.open(`${address}/gui/`, async (opened) => {
    await opened.clock.install();
    await opened.route('**/_events*', async (route) => (isDead ? undefined : await route.continue()));
    await opened.route('**/_problems?*', async (route) => (isDead ? undefined : await route.fulfill(NO_PROBLEMS)));
    await opened.route('**/zones/_summary', async (route) => {
      if (!isDead) return await route.fulfill(ONE_ZONE);
      asked += 1;
    });
  });
  await page.getByRole('link', { name: nameOf(0) }).waitFor();
  isDead = true;
  await page.clock.fastForward(50_000);
  await expect.poll(() => asked).toBe(1);
  await page.clock.fastForward(31_000);
  await page.getByText('The control plane does not answer. This page shows its last answers.').waitFor();
  await page.getByRole('link', { name: nameOf(0) }).waitFor();
  await page.close();
});
