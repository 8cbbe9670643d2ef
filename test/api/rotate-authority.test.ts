// A person asks a zone to change the authority of a MeshIdentity. The leader does the rest.
import { beforeEach, describe, expect, it } from 'vitest';
import { readRotation, rotationKey, rotationSpec } from '../../src/resource/identity-rotation.ts';
import { TinyStore } from '../support/tiny-store.ts';
import { testApi, type Place } from './test-api.ts';

const URL = '/meshes/shop/meshidentities/identity';
const KEY = rotationKey('shop', 'identity');
const TRUE = [
  { type: 'MeshTrustCreated', status: 'True', reason: 'MeshTrustCreated', message: '' },
  { type: 'Ready', status: 'True', reason: 'Ready', message: '' },
];
let store: TinyStore;

beforeEach(async () => {
  store = new TinyStore();
  await store.write({ op: 'create', key: { type: 'Mesh', mesh: '', name: 'shop' }, labels: {}, spec: {} });
  await identity(TRUE);
});

async function identity(conditions: object[], zone = 'east'): Promise<void> {
  const key = { type: 'MeshIdentity', mesh: 'shop', name: 'identity' };
  const labels = { 'kuma.io/zone': zone, 'kuma.io/origin': 'zone' };
  await store.write({ op: 'put', key, labels, spec: {}, status: { conditions: [...conditions], authority: 'ab12' } as never });
}

async function call(method: 'GET' | 'POST', path: string, place: Place = 'zone', more: object = {}) {
  const app = testApi(store, place);
  const answer = await app.inject({ method, url: `${URL}/${path}`, ...(method === 'POST' && { payload: {} }), ...more });
  await app.close();
  return { status: answer.statusCode, body: answer.statusCode === 404 ? {} : answer.json<Record<string, unknown>>() };
}

describe('a zone', () => {
  it('stores the request once, and tells the step', async () => {
    const none = { mesh: 'shop', name: 'identity', authority: 'ab12', step: 'none', waiting: 0, waitsFor: [], until: '' };
    expect(await call('GET', '_rotation')).toEqual({ status: 200, body: none });
    expect(await call('POST', '_rotate')).toEqual({ status: 200, body: { ...none, step: 'requested' } });
    const row = await store.get(KEY);
    expect(row === undefined ? null : readRotation(row)).toEqual({ step: 'requested' });
    expect(await call('POST', '_rotate')).toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining('requested') as string },
    });
  });

  it('names the proxies that it waits for, and no key', async () => {
    const progress = { waiting: 7, waitsFor: ['cart-1'], until: '2026-01-01T00:10:00.000Z' };
    const spec = rotationSpec({ step: 'distribute', certPem: 'CERT', keyPem: 'KEY', ...progress });
    await store.write({ op: 'create', key: KEY, labels: {}, spec });
    const { body } = await call('GET', '_rotation');
    expect(body).toMatchObject({ step: 'distribute', ...progress });
    expect(JSON.stringify(body)).not.toMatch(/CERT|KEY/);
  });

  it.each([
    ['a MeshIdentity that is not ready', [], 'east', /not ready/],
    ['one without a MeshTrust of its own', TRUE.slice(1), 'east', /no MeshTrust/],
    ['one of another zone', TRUE, 'west', /zone west/],
  ])('refuses %s', async (_, conditions, zone, reason) => {
    await identity(conditions, zone);
    const { status, body } = await call('POST', '_rotate');
    expect([status, body['detail']]).toEqual([409, expect.stringMatching(reason)]);
  });

  it('refuses a caller who may not write secrets', async () => {
    expect((await call('POST', '_rotate', 'zone', { remoteAddress: '192.0.2.7' })).status).toBe(403);
  });
});

it('a global has no authority to change', async () => {
  for (const [method, path] of [
    ['POST', '_rotate'],
    ['GET', '_rotation'],
  ] as const)
    expect(await call(method, path, 'global')).toMatchObject({
      status: 400,
      body: { detail: expect.stringContaining('this control plane is the global: each zone has an authority') as string },
    });
});
