// What a matrix of the page asks for when something changes.
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { FastifyInstance } from 'fastify';
import type { Page, Request } from 'playwright-core';
import { queryOf } from '../../src/http/list-query.ts';
import { about } from '../../src/http/route-config.ts';
import { testApi } from '../api/test-api.ts';
import { TinyStore } from '../support/tiny-store.ts';
import { openBrowser, type Browser } from './browser.ts';
import { answerWithMatrix, EVERYWHERE, nameOf } from './fake-fleet.ts';

let api: FastifyInstance;
let browser: Browser;
let address: string;
type Told = { readonly isNew?: boolean; readonly mesh?: string; readonly id?: number };
let tell: (type: string, names: string | readonly string[], told?: Told) => number = () => 0;
let lastChange = 0;
let tellOfZone: (name: string, connection: 'online' | 'lagging' | 'offline', more?: { hasNewProfile: true }) => void = () =>
  undefined;
/** The id after which each stream began; null for a new one. */
const resumedAfter: unknown[] = [];
/** Ends the stream after a heartbeat with this id. */
let endAfter: (id: string) => void = () => undefined;

beforeAll(async () => {
  api = testApi(new TinyStore(), 'global', {
    addRoutes: (app) => {
      app.get('/_events', about('Test', 'Events of the test', { produces: ['text/event-stream'] }), (request, reply) => {
        resumedAfter.push(queryOf(request).get('lastEventId'));
        reply.hijack();
        reply.raw.writeHead(200, { 'content-type': 'text/event-stream' });
        reply.raw.write('event: resync\nid: a.0\ndata: {"reason":"started","instanceId":"cp-1"}\n\n');
        endAfter = (id) => reply.raw.end(`: alive\nid: ${id}\n\n`);
        tellOfZone = (name, connection, more) => {
          const sync = { state: connection, connection, since: null, pending: [], lagMs: 0, reason: '' };
          const condition = { enabled: true, refused: 0, withheld: 0, replica: 'cp-1', reason: '' };
          const items = [{ name, sync, syncProblems: 0, ...condition, ...more }];
          reply.raw.write(`event: zones\nid: a.1\ndata: ${JSON.stringify({ items })}\n\n`);
        };
        tell = (type, names, { isNew = false, mesh = 'default', id = 0 } = {}) => {
          const idOf = (): number => (id === 0 ? (lastChange += 1) : id);
          const items = [names].flat().map((name) => ({ id: idOf(), type, mesh, name, isNew, isRemoval: false }));
          reply.raw.write(`event: changes\nid: a.1\ndata: ${JSON.stringify({ items })}\n\n`);
          return lastChange;
        };
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

it('asks for changed rows alone, for one row after a new one out of sight, and for nothing after other changes', async () => {
  const { page } = await browser.open(`${address}/gui/resources/meshtimeouts/default`, answerWithMatrix);
  await page.getByRole('row').filter({ hasText: 'timeout-0003' }).filter({ hasText: '9,999 of 10,000' }).waitFor();
  let asked: string[] = [];
  const versions = new Set<string | null>();
  page.on('request', (request) => {
    const { pathname, searchParams } = new URL(request.url());
    if (!pathname.endsWith('/_matrix')) return;
    asked.push(`${searchParams.get('size') ?? ''} from ${searchParams.get('offset') ?? ''}`);
    versions.add(searchParams.get('zonesVersion'));
  });
  // At its start the page may still ask for all rows.
  const toldAndAsked = (name: string): string[] => {
    tell('MeshTimeout', name);
    return asked;
  };
  await expect.poll(() => toldAndAsked('timeout-0003')).toContain('1 from 3');
  asked = [];
  tell('MeshRetry', 'timeout-0002');
  tell('MeshTimeout', 'timeout-0300');
  tell('MeshTimeout', 'timeout-0010');
  await expect.poll(() => asked).toContain('1 from 10');
  expect(asked.filter((rows) => rows !== '1 from 3')).toEqual(['1 from 10']);
  asked = [];
  const neighbours = ['timeout-0005', 'timeout-0006', 'timeout-0007', 'timeout-0008', 'timeout-0009'];
  tell('MeshTimeout', ['timeout-0001', ...neighbours]);
  await expect.poll(() => asked).toEqual(['1 from 1', '5 from 5']);
  asked = [];
  tell('MeshTimeout', 'timeout-0400', { isNew: true });
  await expect.poll(() => asked).toEqual(['1 from 0']);
  // The names of the zones came with the first answer.
  expect([...versions]).toEqual(['v1']);
  await page.close();
});

it('asks for nothing while a connected zone is behind, and for all rows when it is away', async () => {
  const { page } = await browser.open(`${address}/gui/resources/meshtimeouts/default`, answerWithMatrix);
  await page.getByRole('row').filter({ hasText: 'timeout-0003' }).filter({ hasText: '9,999 of 10,000' }).waitFor();
  let asked: string[] = [];
  page.on('request', (request) => {
    const { pathname, searchParams } = new URL(request.url());
    if (pathname.endsWith('/_matrix')) asked.push(searchParams.get('size') ?? '');
  });
  // At its start the page may still ask for all rows.
  const toldAndAsked = (): string[] => {
    tell('MeshTimeout', 'timeout-0003');
    return asked;
  };
  await expect.poll(toldAndAsked).toContain('1');
  asked = [];
  tellOfZone(nameOf(3), 'lagging');
  tellOfZone(nameOf(3), 'online');
  tell('MeshTimeout', 'timeout-0006');
  await expect.poll(() => asked).toContain('1');
  expect(asked.filter((size) => size !== '1')).toEqual([]);
  tellOfZone(nameOf(3), 'offline');
  await expect.poll(() => asked.some((size) => size !== '1')).toBe(true);
  await page.close();
});

it('asks for all rows when a zone has other meshes or labels', async () => {
  const { page } = await browser.open(`${address}/gui/resources/meshtimeouts/default`, answerWithMatrix);
  await page
    .getByRole('row')
    .filter({ hasText: nameOfRow(3) })
    .filter({ hasText: '9,999 of 10,000' })
    .waitFor();
  const asked = rowsAskedBy(page);
  await expect.poll(() => toldAndAsked(asked, nameOfRow(3))).toContain('1 from 3');
  asked.length = 0;
  tellOfZone(nameOf(3), 'online');
  tell('MeshTimeout', nameOfRow(6));
  await expect.poll(() => asked).toContain('1 from 6');
  expect(asked.filter((rows) => !rows.startsWith('1 '))).toEqual([]);
  tellOfZone(nameOf(3), 'online', { hasNewProfile: true });
  await expect.poll(() => asked.some((rows) => !rows.startsWith('1 '))).toBe(true);
  await page.close();
});

it('asks once for a change that all zones have, and for none of another mesh', async () => {
  const { page } = await browser.open(`${address}/gui/resources/meshtimeouts/default`, answerWithMatrix);
  await page
    .getByRole('row')
    .filter({ hasText: nameOfRow(EVERYWHERE) })
    .filter({ hasText: '10,000 of 10,000' })
    .waitFor();
  const asked = rowsAskedBy(page);
  await expect.poll(() => toldAndAsked(asked, nameOfRow(3))).toContain('1 from 3');
  const id = tell('MeshTimeout', nameOfRow(EVERYWHERE));
  await expect.poll(() => asked).toContain('1 from 12');
  asked.length = 0;
  tell('MeshTimeout', nameOfRow(EVERYWHERE), { id });
  tell('MeshTimeout', nameOfRow(5), { mesh: 'shop' });
  tell('MeshTimeout', nameOfRow(7));
  await expect.poll(() => asked).toContain('1 from 7');
  expect(asked.filter((rows) => rows !== '1 from 3')).toEqual(['1 from 7']);
  tell('MeshTimeout', nameOfRow(EVERYWHERE));
  await expect.poll(() => asked).toContain('1 from 12');
  await page.close();
});

it('asks for a row that changed out of sight when it comes in sight', async () => {
  const { page } = await browser.open(`${address}/gui/resources/meshtimeouts/default`, answerWithMatrix);
  const far = nameOfRow(38);
  const row = page.getByRole('row').filter({ hasText: far });
  const matrix = page.getByRole('grid');
  for (const key of ['PageDown', 'PageDown', 'PageDown', 'PageDown']) await matrix.press(key);
  await row.filter({ hasText: '9,999 of 10,000' }).waitFor();
  for (const key of ['PageUp', 'PageUp', 'PageUp', 'PageUp']) await matrix.press(key);
  await page
    .getByRole('row')
    .filter({ hasText: nameOfRow(3) })
    .filter({ hasText: '9,999 of 10,000' })
    .waitFor();
  const asked = rowsAskedBy(page);
  await expect.poll(() => toldAndAsked(asked, nameOfRow(3))).toContain('1 from 3');
  asked.length = 0;
  tell('MeshTimeout', far);
  tell('MeshTimeout', nameOfRow(6));
  await expect.poll(() => asked).toContain('1 from 6');
  expect(asked.filter((rows) => rows !== '1 from 3')).toEqual(['1 from 6']);
  for (const key of ['PageDown', 'PageDown', 'PageDown', 'PageDown']) await matrix.press(key);
  await expect.poll(() => asked).toContain('1 from 38');
  await row.filter({ hasText: '9,999 of 10,000' }).waitFor();
  await page.close();
});

it('asks for each row once while one scrolls, one request at a time', async () => {
  const { page } = await browser.open(`${address}/gui/resources/meshtimeouts/default`, answerWithMatrix);
  await page
    .getByRole('row')
    .filter({ hasText: nameOfRow(3) })
    .filter({ hasText: '9,999 of 10,000' })
    .waitFor();
  const asked = rowsAskedBy(page);
  // At its start the page may still ask for all rows.
  await expect.poll(() => toldAndAsked(asked, nameOfRow(3))).toContain('1 from 3');
  asked.length = 0;
  const underWay = new Set<Request>();
  let most = 0;
  page.on('request', (request) => {
    if (request.url().includes('/_matrix?')) underWay.add(request);
    most = Math.max(most, underWay.size);
  });
  page.on('requestfinished', (request) => void underWay.delete(request));
  const matrix = page.getByRole('grid');
  for (let down = 0; down < 12; down += 1) await matrix.press('PageDown');
  await page
    .getByRole('row')
    .filter({ hasText: nameOfRow(120) })
    .filter({ hasText: '9,999 of 10,000' })
    .waitFor();
  for (let up = 0; up < 12; up += 1) await matrix.press('PageUp');
  await page
    .getByRole('row')
    .filter({ hasText: nameOfRow(0) })
    .filter({ hasText: '9,999 of 10,000' })
    .waitFor();
  const rows = asked.filter((one) => one !== '1 from 3').flatMap(rowsOf);
  expect(rows.length).toBe(new Set(rows).size);
  expect(most).toBe(1);
  await page.close();
});

/** The places in `size from offset`. */
function rowsOf(asked: string): readonly number[] {
  const [size = 0, offset = 0] = asked.split(' from ').map(Number);
  return Array.from({ length: size }, (_, at) => offset + at);
}

function nameOfRow(at: number): string {
  return `timeout-${String(at).padStart(4, '0')}`;
}

/** `size from offset` of each request for rows from now on. */
function rowsAskedBy(page: Page): string[] {
  const asked: string[] = [];
  page.on('request', (request) => {
    const { pathname, searchParams } = new URL(request.url());
    if (pathname.endsWith('/_matrix')) asked.push(`${searchParams.get('size') ?? ''} from ${searchParams.get('offset') ?? ''}`);
  });
  return asked;
}

/** At its start the page may still ask for all rows. */
function toldAndAsked(asked: readonly string[], name: string): readonly string[] {
  tell('MeshTimeout', name);
  return asked;
}

it('resumes after the id of a heartbeat', async () => {
  resumedAfter.length = 0;
  const { page } = await browser.open(`${address}/gui/resources/meshtimeouts/default`, answerWithMatrix);
  await expect.poll(() => resumedAfter).toEqual([null]);
  endAfter('a.7');
  await expect.poll(() => resumedAfter).toEqual([null, 'a.7']);
  await page.close();
});
