// The files of the page at /gui: how long a browser may keep them, and what may run in the page.
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import type { FastifyInstance } from 'fastify';
import { TinyStore } from '../support/tiny-store.ts';
import { testApi } from './test-api.ts';

let api: FastifyInstance;
let script: string;

beforeAll(async () => {
  api = testApi(new TinyStore(), 'global');
  const { body } = await api.inject('/gui');
  script = /src="([^"]+\.js)"/.exec(body)?.[1] ?? '';
});

describe('the page at /gui', () => {
  it('is the same document at each of its places', async () => {
    const { body } = await api.inject('/gui');
    expect(body).toContain('<div id="page">');
    for (const url of ['/gui/', '/gui/zones/east', '/gui/resources/meshtimeouts/shop/a.b']) {
      const answer = await api.inject(url);
      expect([answer.statusCode, answer.body]).toEqual([200, body]);
    }
  });

  it('is served in a zone too', async () => {
    for (const place of ['zone', 'alone'] as const)
      expect((await testApi(new TinyStore(), place).inject('/gui')).statusCode).toBe(200);
  });

  it('is asked for again each time, and its files are kept for ever', async () => {
    const document = await api.inject('/gui');
    expect(document.headers['cache-control']).toBe('no-cache');
    expect((await api.inject(script)).headers['cache-control']).toBe('public, max-age=31536000, immutable');
    const again = await api.inject({ url: '/gui', headers: { 'if-none-match': String(document.headers.etag) } });
    expect([again.statusCode, again.body]).toEqual([304, '']);
  });

  it('runs nothing foreign', async () => {
    const { headers } = await api.inject('/gui/changes');
    const policy = String(headers['content-security-policy']).split('; ');
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("script-src 'self'");
    expect(policy).toContain("require-trusted-types-for 'script'");
    expect(policy.join(' ')).not.toMatch(/unsafe|http|\*/);
    expect(headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
    });
  });

  it('is compressed as the browser asks', async () => {
    const plain = await api.inject(script);
    expect(plain.headers['content-type']).toBe('text/javascript; charset=utf-8');
    const brotli = await api.inject({ url: script, headers: { 'accept-encoding': 'gzip, br' } });
    expect(brotli.headers).toMatchObject({ 'content-encoding': 'br', vary: 'Accept-Encoding' });
    expect(brotliDecompressSync(brotli.rawPayload).toString()).toBe(plain.body);
    const gzip = await api.inject({ url: script, headers: { 'accept-encoding': 'gzip, br;q=0' } });
    expect(gzip.headers['content-encoding']).toBe('gzip');
    expect(gunzipSync(gzip.rawPayload).toString()).toBe(plain.body);
  });

  it.each(['/gui/assets/gone-12345678.js', '/gui/assets/..%2findex.html'])(
    'has no document at the path of a file: %s',
    async (url) => {
      expect((await api.inject(url)).statusCode).toBe(404);
    },
  );

  it('gives no file outside of its folder', async () => {
    const { body } = await api.inject('/gui');
    for (const url of ['/gui/..%2f..%2fpackage.json', '/gui/%2e%2e/%2e%2e/package.json', '/gui//etc/passwd'])
      expect([body, '404: Page Not Found']).toContain((await api.inject(url)).body);
  });
});
