import { describe, expect, it } from 'vitest';
import { isLocalAdmin, type RequestFacts } from './request-facts.ts';

const local: RequestFacts = {
  method: 'GET',
  url: '/',
  remoteAddress: '127.0.0.1',
  encrypted: false,
  headers: { host: 'localhost:5681' },
};

const withHeaders = (headers: RequestFacts['headers']): RequestFacts => ({ ...local, headers: { ...local.headers, ...headers } });

describe('isLocalAdmin', () => {
  it.each(['127.0.0.1', '127.8.9.1', '::1', '::ffff:127.0.0.1', '::FFFF:127.0.0.1'])('accepts the peer %s', (remoteAddress) => {
    expect(isLocalAdmin({ ...local, remoteAddress })).toBe(true);
  });

  it.each(['', '10.0.0.1', '::', '::2', '::ffff:10.0.0.1', '127.0.0.1.evil.example', '127.', 'localhost'])(
    'refuses the peer %o',
    (remoteAddress) => {
      expect(isLocalAdmin({ ...local, remoteAddress })).toBe(false);
    },
  );

  it.each(['localhost', 'LOCALHOST:5681', '127.0.0.1', '127.0.0.2:5681', '[::1]', '[::1]:5681'])('accepts Host %s', (host) => {
    expect(isLocalAdmin(withHeaders({ host }))).toBe(true);
  });

  it.each([
    '',
    undefined,
    'cp.example',
    'cp.example:5681',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    'localhost@evil.example',
    'localhost:5681, evil.example',
    '[::1',
    '[::2]',
    '10.0.0.1:5681',
  ])('refuses Host %o', (host) => {
    expect(isLocalAdmin(withHeaders({ host }))).toBe(false);
  });

  it.each(['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-real-ip'])(
    'refuses a request forwarded by a proxy: %s',
    (name) => {
      expect(isLocalAdmin(withHeaders({ [name]: '127.0.0.1' }))).toBe(false);
      expect(isLocalAdmin(withHeaders({ [name]: '' }))).toBe(false);
      expect(isLocalAdmin(withHeaders({ [name]: ['127.0.0.1', '::1'] }))).toBe(false);
    },
  );

  it.each([
    ['same-origin', true],
    ['none', true],
    ['same-site', false],
    ['cross-site', false],
    ['', false],
  ])('Sec-Fetch-Site %o: %s', (site, expected) => {
    expect(isLocalAdmin(withHeaders({ 'sec-fetch-site': site }))).toBe(expected);
  });

  it.each([
    ['http://localhost:5681', true],
    ['http://LOCALHOST:5681', true],
    ['https://localhost:5681', true],
    ['http://localhost:5682', false],
    ['http://localhost', false],
    ['http://127.0.0.1:5681', false],
    ['http://evil.example', false],
    ['http://localhost:5681.evil.example', false],
    ['http://x@localhost:5681', false],
    ['null', false],
    ['', false],
  ])('Origin %o: %s', (origin, expected) => {
    expect(isLocalAdmin(withHeaders({ origin }))).toBe(expected);
  });

  it('uses the port of the scheme when the port is missing', () => {
    expect(isLocalAdmin(withHeaders({ host: 'localhost', origin: 'http://localhost:80' }))).toBe(true);
    const encrypted = { ...withHeaders({ host: 'localhost', origin: 'https://localhost' }), encrypted: true };
    expect(isLocalAdmin(encrypted)).toBe(true);
    expect(isLocalAdmin({ ...encrypted, encrypted: false })).toBe(false);
  });

  it('refuses a repeated header', () => {
    expect(isLocalAdmin(withHeaders({ host: ['localhost', 'evil.example'] }))).toBe(false);
    expect(isLocalAdmin(withHeaders({ origin: ['http://localhost:5681', 'http://evil.example'] }))).toBe(false);
    expect(isLocalAdmin(withHeaders({ 'sec-fetch-site': ['none', 'cross-site'] }))).toBe(false);
  });
});
