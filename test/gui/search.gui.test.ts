// The search of the page for a person who may not read everything.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { FastifyInstance } from 'fastify';
import type { Page } from 'playwright-core';
import { defaultAccess, tokenAccess } from '../../src/http/access.ts';
import { testApi } from '../api/test-api.ts';
import { TinyStore } from '../support/tiny-store.ts';
import { openBrowser, type Browser, type OpenPage } from './browser.ts';

let api: FastifyInstance;
let browser: Browser;
let address: string;

beforeAll(async () => {
  const store = new TinyStore().withZones('needle-zone');
  const rows = [
    ['Mesh', '', 'needle-mesh'],
    ['MeshCircuitBreaker', 'needle-mesh', 'needle-breaker'],
    ['MeshTimeout', 'needle-mesh', 'needle-timeout'],
    ['Secret', 'needle-mesh', 'needle-password'],
    ['GlobalSecret', '', 'needle-key'],
  ] as const;
  for (const [type, mesh, name] of rows) await store.write({ op: 'create', key: { type, mesh, name }, labels: {}, spec: {} });
  const access = tokenAccess(
    { type: 'tokens', localhostIsAdmin: false },
    { user: async () => ({ ok: false, reason: 'is not known' }) },
    { follow: () => () => undefined },
    defaultAccess,
  );
  api = testApi(store, 'global', { access });
  address = await api.listen({ port: 0, host: '127.0.0.1' });
  browser = await openBrowser();
});

afterAll(async () => {
  await browser.close();
  await api.close();
});

/** Searches, and waits for a name that is found last. */
async function search(prepare: (page: Page) => Promise<void>, last: string): Promise<OpenPage & { readonly hits: string }> {
  const opened = await browser.open(`${address}/gui/health`, prepare);
  await opened.page.getByRole('button', { name: 'Search' }).click();
  await opened.page.getByRole('combobox').fill('needle');
  await opened.page.getByRole('option').filter({ hasText: last }).waitFor();
  return { ...opened, hits: (await opened.page.getByRole('listbox').textContent()) ?? '' };
}

describe('the search of the page', () => {
  it('finds zones, meshes and policies, and no secret for a person who may not read secrets', async () => {
    const bodies: Promise<string>[] = [];
    const { page, hits } = await search(async (opened) => {
      opened.on('response', (response) => void bodies.push(response.text().catch(() => '')));
    }, 'needle-timeout');
    for (const name of ['needle-zone', 'needle-mesh', 'needle-breaker']) expect(hits).toContain(name);
    await page.close();
    const received = (await Promise.all(bodies)).join('\n');
    expect(received).toContain('needle-timeout');
    for (const name of ['needle-password', 'needle-key']) expect(received).not.toContain(name);
  });

  it('goes on with the other types when one may not be read', async () => {
    const { page, hits } = await search(async (opened) => {
      const json = { title: 'Access Denied', detail: 'user "jo" may not read MeshCircuitBreaker' };
      await opened.route('**/meshcircuitbreakers?*', async (route) => await route.fulfill({ status: 403, json }));
    }, 'needle-timeout');
    expect(hits).not.toContain('needle-breaker');
    expect(hits).toContain('needle-mesh');
    await page.close();
  });

  it('opens with Enter what the present text finds, and nothing of an earlier text', async () => {
    const { page } = await browser.open(`${address}/gui/health`);
    await page.getByRole('button', { name: 'Search' }).click();
    await page.getByRole('option').first().waitFor();
    await page.getByRole('combobox').fill('needle-mesh');
    await page.keyboard.press('Enter');
    await page.waitForURL(`${address}/gui/resources/meshes/-/needle-mesh`);
    await page.close();
  });
});
