// The log-in of the page, on a control plane that does not trust its own machine.
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { FastifyInstance } from 'fastify';
import { defaultAccess, tokenAccess } from '../../src/http/access.ts';
import { testApi } from '../api/test-api.ts';
import { TinyStore } from '../support/tiny-store.ts';
import { openBrowser, type Browser } from './browser.ts';

/** The tokens that are valid now. */
const valid = new Set<string>();
let api: FastifyInstance;
let browser: Browser;
let address: string;

beforeAll(async () => {
  const access = tokenAccess(
    { type: 'tokens', localhostIsAdmin: false },
    {
      user: async (token) =>
        valid.has(token)
          ? { ok: true, id: token, claims: { name: 'jo', groups: ['operators'] }, expiresAt: new Date('2030-01-01') }
          : { ok: false, reason: 'has expired' },
    },
    { follow: () => () => undefined },
    defaultAccess,
  );
  api = testApi(new TinyStore(), 'global', { access });
  address = await api.listen({ port: 0, host: '127.0.0.1' });
  browser = await openBrowser();
});

afterAll(async () => {
  await browser.close();
  await api.close();
});

it('asks for a new token when that of a person has expired, and stays at its place', async () => {
  valid.add('first').add('second');
  const { page, faults } = await browser.open(`${address}/gui/?q=slow`);
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.getByLabel('User token').fill('unknown');
  await page.getByRole('main').getByRole('button', { name: 'Log in' }).click();
  await page.getByText('the user token has expired').waitFor();
  await page.getByLabel('User token').fill('first');
  await page.getByLabel('User token').press('Enter');
  await page.getByText('jo', { exact: true }).waitFor();
  await page.getByRole('heading', { name: 'Fleet' }).waitFor();
  valid.delete('first');
  await page.getByRole('alert').getByText('the user token has expired').waitFor();
  expect(page.url()).toBe(`${address}/gui/?q=slow`);
  await page.getByLabel('User token').fill('second');
  await page.getByLabel('User token').press('Enter');
  await page.getByRole('heading', { name: 'Fleet' }).waitFor();
  await page.close();
  // The browser itself reports each 401. This API has no stream of events.
  expect(faults.filter((fault) => !/status of 40[14]/.test(fault)).join('\n')).toBe('');
});

it('says that a token has a character that no token has', async () => {
  const { page } = await browser.open(`${address}/gui/`);
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.getByLabel('User token').fill('first\u200b');
  await page.getByLabel('User token').press('Enter');
  await page.getByRole('alert').getByText('The token has a character that no token has').waitFor();
  await page.close();
});
