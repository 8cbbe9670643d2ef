// The files that a PUT passes, from the socket to the statement: docs/flow.md lists them.
import { PGlite } from '@electric-sql/pglite';
import { expect, it, vi } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { answerInTime } from '../../src/store/answer-in-time.ts';
import { compareWay, documentedWay } from '../support/documented-way.ts';
import { openEmbeddedStore } from '../support/embedded-store.ts';
import { filesRun } from '../support/files-run.ts';
import { testApi } from '../api/test-api.ts';

it('the files of a PUT of a MeshTimeout are at most 14 in 7 folders, those of docs/flow.md', async () => {
  const store = await openEmbeddedStore();
  const api = testApi(answerInTime(store, systemClock), 'global');
  const url = await api.listen({ host: '127.0.0.1', port: 0 });
  const put = async (path: string, body: object): Promise<number> => {
    const request = { method: 'PUT', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
    return (await fetch(`${url}/meshes/${path}`, request)).status;
  };
  const putTimeout = (seconds: number): Promise<number> => {
    const spec = { to: [{ targetRef: { kind: 'Mesh' }, default: { connectionTimeout: `${String(seconds)}s` } }] };
    return put('default/meshtimeouts/slow', { type: 'MeshTimeout', mesh: 'default', name: 'slow', spec });
  };
  try {
    expect(await put('default', { type: 'Mesh', name: 'default' })).toBe(201);
    expect(await putTimeout(1)).toBe(201);
    expect(await putTimeout(2)).toBe(200);
    const run = await filesRun(async (end) => {
      const query = vi.spyOn(PGlite.prototype, 'query');
      query.mockImplementationOnce(function (this: PGlite, ...given) {
        end();
        query.mockRestore();
        return this.query(...given);
      });
      expect(await putTimeout(3)).toBe(200);
    });
    const page = documentedWay('The files of a PUT');
    const { way, unused } = compareWay(run, page);
    expect(way).toEqual(page.files.toSorted());
    expect(unused).toEqual([]);
    expect(way.length).toBeLessThanOrEqual(14);
    expect(new Set(way.map((file) => file.split('/')[0])).size).toBeLessThanOrEqual(7);
  } finally {
    await api.close();
    await store.close();
  }
});
