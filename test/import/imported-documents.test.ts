// The folder of a Kubernetes team before a global that was imported: its documents mean the imported resources.
import type { FastifyInstance } from 'fastify';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments, stringify } from 'yaml';
import { importPlan } from '../../src/import/import-plan.ts';
import { storeRows } from '../../src/import/store-rows.ts';
import { objectOf, textOf } from '../../src/resource/read-json.ts';
import type { JsonObject } from '../../src/resource/types.ts';
import { testApi } from '../api/test-api.ts';
import { runMeridian, type Outcome } from '../support/run-meridian.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { TinyStore } from '../support/tiny-store.ts';
import { dumpedObjects, WEST } from './kubernetes-global.ts';

const KINDS = new Set(['MeshRetry', 'MeshCircuitBreaker', 'MeshHTTPRoute', 'MeshMetric', 'HostnameGenerator', 'MeshTrust']);
const objects = dumpedObjects();

let api: FastifyInstance;
let address: string;

beforeAll(async () => {
  const every = importPlan(objects, { accept: [], kinds: WEST });
  const { rows } = importPlan(objects, { accept: every.losses.map(({ kind }) => kind), kinds: WEST });
  const store = new TinyStore();
  await storeRows(store, rows, AbortSignal.timeout(60_000));
  api = testApi(store, 'global');
  address = await api.listen({ host: '127.0.0.1', port: 0 });
});

afterAll(() => api.close());

async function run(args: readonly string[], input = ''): Promise<Outcome> {
  return await runMeridian([...args, '--address', address], { input });
}

/** What the team wrote: without what the webhooks of the old global added. */
function asWritten(object: JsonObject): JsonObject {
  const { apiVersion = null, kind = null, spec = null } = object;
  const { name = null, namespace = null, labels } = objectOf(object['metadata']);
  const mesh = objectOf(labels)['kuma.io/mesh'] ?? null;
  return { apiVersion, kind, metadata: { name, namespace, labels: mesh === null ? {} : { 'kuma.io/mesh': mesh } }, spec };
}

describe('documents without the label of their namespace', () => {
  const own = objects.filter((object) => {
    const labels = objectOf(objectOf(object['metadata'])['labels']);
    return KINDS.has(textOf(object['kind'])) && labels['k8s.kuma.io/namespace'] === 'kuma-system';
  });

  it('are the imported resources: a diff finds nothing', async () => {
    const folder = temporaryFolder();
    const settings = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings' } };
    const list = { apiVersion: 'v1', kind: 'List', items: [...own.map(asWritten), settings] };
    writeFileSync(join(folder, 'all.yaml'), stringify(list));
    const { code, stdout, stderr } = await run(['diff', '-f', folder]);
    expect(own.length).toBeGreaterThan(9);
    expect({ code, stdout, stderr }).toEqual({
      code: 0,
      stdout: '',
      stderr: expect.stringMatching(
        new RegExp(`ConfigMap settings is no resource of a mesh; it is left out\\n0 of ${String(own.length)} resources differ`),
      ) as string,
    });
  });

  it('are kept by --prune', async () => {
    const [route] = own.filter(({ kind }) => kind === 'MeshHTTPRoute').map(asWritten);
    const args = ['apply', '-f', '-', '--prune', '-l', 'kuma.io/display-name=route', '--dry-run'];
    const { code, stdout } = await run(args, stringify(route));
    expect([code, stdout]).toEqual([0, expect.stringContaining('MeshHTTPRoute default/route.kuma-system unchanged')]);
    expect(stdout).not.toContain('pruned');
  });
});

it('get --format kubernetes prints documents that apply reads as the same resources', async () => {
  const types = 'meshtimeouts,meshretries,meshhttproutes,meshexternalservices,hostnamegenerators,meshes,zones';
  const { stdout } = await run(['get', types, '-A', '-o', 'yaml', '--format', 'kubernetes']);
  const printed = parseAllDocuments(stdout).map((document) => document.toJS() as JsonObject);
  const labels = printed.flatMap(({ metadata }) => Object.keys(objectOf(objectOf(metadata)['labels'])));
  expect([...new Set(labels)].toSorted()).toEqual(['k8s.kuma.io/namespace', 'kuma.io/effect', 'kuma.io/mesh', 'team']);
  // A row whose name is too long with its namespace can be deleted, and not written.
  const writable = printed.filter(({ metadata }) => textOf(objectOf(metadata)['name']).length < 240);
  expect(writable).toHaveLength(printed.length - 1);
  const { code, stderr } = await run(['diff', '-f', '-'], writable.map((document) => stringify(document)).join('---\n'));
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringMatching(/^0 of \d+ resources differ\n$/) as string });
});
