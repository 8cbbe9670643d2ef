// The way back to Kuma: which rows are rewritten, and what is named.
import { describe, expect, it } from 'vitest';
import { returnPlan } from '../../src/takeover/return-plan.ts';
import { readStoredRows, storeRewrites } from '../../src/takeover/return-rows.ts';
import { TAKEN_OVER } from '../../src/takeover/takeover-guard.ts';
import { toKumaForm } from '../../src/validation/kuma-form.ts';
import { typeOf } from '../../src/resource/type-registry.ts';
import type { JsonObject } from '../../src/resource/types.ts';
import { TinyStore } from '../support/tiny-store.ts';
import { readOldRows } from './old-rows.ts';

const MESH = { kind: 'Mesh' };
const row = (type: string, name: string, spec: JsonObject) => ({ type, mesh: 'shop', name, labels: {}, spec });
const byName = row('MeshTimeout', 'by-name', {
  targetRef: MESH,
  to: [{ targetRef: { kind: 'MeshService', name: 'cart', namespace: 'shop' }, default: { idleTimeout: '5s' } }],
});
const subset = row('MeshTimeout', 'subset', { targetRef: { kind: 'MeshSubset', tags: { a: 'b' } }, to: [{ targetRef: MESH }] });
const plain = row('MeshTimeout', 'plain', { targetRef: MESH, to: [{ targetRef: MESH, default: { idleTimeout: '5s' } }] });

describe('the plan of the way back', () => {
  it('rewrites what Kuma reads otherwise, and leaves the rest', () => {
    const plan = returnPlan([byName, plain, row('Mesh', 'shop', { skipCreatingInitialPolicies: ['*'] })]);
    expect(plan.obstacles).toEqual([]);
    expect(plan.rewrites.map(({ row: { name }, spec }) => [name, spec])).toEqual([
      [
        'by-name',
        {
          targetRef: MESH,
          to: [
            {
              targetRef: { kind: 'MeshService', labels: { 'kuma.io/display-name': 'cart', 'k8s.kuma.io/namespace': 'shop' } },
              default: { idleTimeout: '5s' },
            },
          ],
        },
      ],
    ]);
  });

  it('names what has no form in Kuma, by field', () => {
    const route = row('HTTPRoute', 'web', {});
    const proxies = row('MeshTrace', 'gateways', { targetRef: { kind: 'Mesh', proxyTypes: ['Gateway'] }, default: {} });
    expect(returnPlan([subset, route, proxies]).obstacles.map(({ name, field }) => `${name} ${field}`)).toEqual([
      'web ',
      'subset spec.targetRef.kind',
      'gateways spec.targetRef.proxyTypes',
    ]);
  });

  it('gives every row of the corpus of 2.x a form that is its own translation, or names it', () => {
    const rows = readOldRows('once-2.x.yaml');
    const { rewrites, obstacles } = returnPlan(rows);
    for (const { row: rewritten, spec } of rewrites) {
      const info = typeOf(rewritten.type);
      expect(toKumaForm(info, { ...rewritten, spec, status: undefined })).toMatchObject({ resource: { spec } });
    }
    const told = new Set([...rewrites.map((one) => one.row.name), ...obstacles.map(({ name }) => name)]);
    expect(rows.map(({ name }) => name).filter((name) => !told.has(name))).toEqual(['shop', 'allow-all-traffic']);
  });
});

describe('the rewrites of a store', () => {
  it('are stored in one transaction, and the next start of Meridian checks the database again', async () => {
    const store = new TinyStore();
    for (const { type, mesh, name, labels, spec } of [byName, plain])
      await store.write({ op: 'put', key: { type, mesh, name }, labels, spec });
    await store.write({ op: 'put', key: TAKEN_OVER, labels: {}, spec: { config: '' } });
    const { rewrites } = returnPlan(await readStoredRows(store));
    expect(await storeRewrites(store, rewrites, AbortSignal.timeout(60_000))).toBe(true);
    expect(returnPlan(await readStoredRows(store)).rewrites).toEqual([]);
    expect((await store.get(byName))?.version).toBe(1);
    expect((await store.get(plain))?.version).toBe(0);
    expect(await store.get(TAKEN_OVER)).toBeUndefined();
  });

  it('are not stored while a control plane leads', async () => {
    const store = new TinyStore();
    const { type, mesh, name, labels, spec } = byName;
    await store.write({ op: 'put', key: { type, mesh, name }, labels, spec });
    store.lead = async () => undefined;
    const { rewrites } = returnPlan(await readStoredRows(store));
    expect(await storeRewrites(store, rewrites, new AbortController().signal)).toBe(false);
    expect((await store.get(byName))?.version).toBe(0);
  });
});
