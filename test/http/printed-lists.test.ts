// Printed lists say what the rows say, for every writer, page and filter. The layout is that of every answer.
import { fc } from '../support/property.ts';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { toUniversal } from '../../src/document/universal-form.ts';
import { typeOf } from '../../src/resource/type-registry.ts';
import type { ResourceStore } from '../../src/store/resource-store.ts';
import { testApi } from '../api/test-api.ts';
import { openEmbeddedStore } from '../support/embedded-store.ts';

let store: ResourceStore;
let app: FastifyInstance;

beforeAll(async () => {
  store = await openEmbeddedStore();
  app = testApi(store, 'global');
  await store.write({ op: 'create', key: { type: 'Mesh', mesh: '', name: 'm' }, labels: {}, spec: {} });
}, 120_000);

afterAll(async () => {
  await app.close();
  await store.close();
});

const info = typeOf('MeshTimeout');
const key = (name: string): { type: string; mesh: string; name: string } => ({ type: 'MeshTimeout', mesh: 'm', name });
const name = fc.constantFrom('a', 'b', 'c', 'd', 'é-☃');
const write = fc.record({ name, remove: fc.boolean(), value: fc.constantFrom('1', '"', '\n', '☃', '\\') });

describe('a list', () => {
  it('equals the rows in the layout of every answer', async () => {
    const step = fc.record({
      writes: fc.array(write, { maxLength: 3 }),
      size: fc.integer({ min: 1, max: 4 }),
      offset: fc.integer({ min: 0, max: 5 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 6 }), async (steps) => {
        for (const { writes, size, offset } of steps) {
          for (const { name: row, remove, value } of writes)
            await store.write(
              remove ? { op: 'delete', key: key(row) } : { op: 'put', key: key(row), labels: { v: 'x' }, spec: { value } },
            );
          const rows = await store.list({ type: 'MeshTimeout' });
          const items = rows.slice(offset, offset + size).map((row) => toUniversal(info, row));
          const path = `/meshes/m/meshtimeouts?size=${String(size)}&offset=${String(offset)}`;
          const next =
            offset + size < rows.length
              ? `http://cp/meshes/m/meshtimeouts?offset=${String(offset + size)}&size=${String(size)}`
              : null;
          const answer = await app.inject({ url: path, headers: { host: 'cp' } });
          expect(answer.body).toBe(`${JSON.stringify({ total: rows.length, items, next }, null, 1)}\n`);
        }
      }),
      { numRuns: 25 },
    );
  });
});
