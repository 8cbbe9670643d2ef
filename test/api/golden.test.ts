// Requests and the answers that the reference gives them, as YAML in test/api/golden (rest-api 1 to 6). Each document is a case:
//   name; on: global | zone (federated, named east) | alone (a zone without a global); read: how the caller is seen
//   given: resources that are there before, written on that control plane by the rules of the store, `row:` for columns
//   request: «GET /path» or «PUT /path», headers, body
//   response: status, headers, text (exact), body (exact; times are «TIME»), like (a part of the body), fields (of the violations)
// The wording of `detail` and `reason` is ours; status, title and fields are Kuma's.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { systemClock, type Clock } from '../../src/base/clock.ts';
import { typeOf } from '../../src/resource/type-registry.ts';
import type { JsonObject, Labels } from '../../src/resource/types.ts';
import type { ResourceStore, Write } from '../../src/store/resource-store.ts';
import { testApi, type Place } from './test-api.ts';
import { openEmbeddedStore } from '../support/embedded-store.ts';

const FOLDER = join(import.meta.dirname, 'golden');

type Given = JsonObject & {
  type: string;
  name: string;
  mesh?: string;
  labels?: Labels;
  row?: { status?: JsonObject; syncVersion?: string };
};
type Case = {
  readonly name: string;
  readonly on?: Place;
  readonly given?: readonly Given[];
  readonly request: string;
  readonly headers?: Record<string, string>;
  readonly body?: unknown;
  readonly response: {
    readonly status: number;
    readonly headers?: Record<string, string>;
    readonly text?: string;
    readonly body?: unknown;
    readonly like?: object;
    readonly fields?: readonly string[];
  };
};

const files = (await readdir(FOLDER)).filter((file) => file.endsWith('.yaml')).toSorted();
const cases = new Map<string, Case[]>();
for (const file of files) {
  const documents = parseAllDocuments(await readFile(join(FOLDER, file), 'utf8'));
  cases.set(
    file,
    documents.map((document) => document.toJS() as Case),
  );
}

/** Answers that are kept for a second are never kept from one case to the next. */
let seconds = Date.parse('2026-01-01T00:00:00Z') / 1000;
const clock: Clock = { ...systemClock, now: () => new Date((seconds += 2) * 1000) };

let store: ResourceStore;
const apis = new Map<Place, FastifyInstance>();

beforeAll(async () => {
  store = await openEmbeddedStore();
  for (const place of ['global', 'zone', 'alone'] as const) apis.set(place, testApi(store, place, { clock }));
}, 120_000);

afterAll(async () => {
  for (const app of apis.values()) await app.close();
  await store.close();
});

async function clear(): Promise<void> {
  for (const { type } of await store.countAll()) {
    const rows = await store.list({ type });
    await store.writeBatch(rows.map(({ mesh, name }) => ({ op: 'delete', key: { type, mesh, name } })));
  }
}

function rowOf({ type, mesh = '', name, labels = {}, row = {}, spec, ...flat }: Given): Write {
  const content = typeOf(type).codec.kind === 'json' ? (spec as JsonObject) : flat;
  return {
    op: 'create',
    key: { type, mesh, name },
    labels,
    spec: content,
    status: row.status ?? {},
    syncVersion: row.syncVersion ?? null,
  };
}

/** The same with every time as «TIME». */
function withoutTimes(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutTimes);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      /^(creation|modification)Time$|^createdAt$/.test(key) ? 'TIME' : withoutTimes(inner),
    ]),
  );
}

/** The same with the time of an ETag as «TIME». */
function withoutCreation({ etag, ...headers }: Record<string, unknown>): object {
  return { ...headers, ...(typeof etag === 'string' && { etag: etag.replace(/-[0-9a-z]+"$/, '-TIME"') }) };
}

describe.each([...cases])('%s', (_file, documents) => {
  it.each(documents)('$name', async ({ on = 'global', given = [], request, headers = {}, body, response }) => {
    await clear();
    await store.writeBatch(given.map(rowOf));
    const app = apis.get(on);
    if (app === undefined) throw new Error(`no control plane ${on}`);
    const [method = '', url = ''] = request.split(' ');
    const payload = body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body);
    const answer = await app.inject({
      method: method,
      url,
      headers: { host: 'cp:5681', ...(payload !== undefined && { 'content-type': 'application/json' }), ...headers },
      ...(payload !== undefined && { payload }),
    });
    expect(answer.statusCode, answer.body).toBe(response.status);
    expect(withoutCreation(answer.headers)).toMatchObject(response.headers ?? {});
    if (response.text !== undefined) expect(answer.body).toBe(response.text);
    if (response.body !== undefined) expect(withoutTimes(answer.json())).toEqual(response.body);
    if (response.like !== undefined) expect(withoutTimes(answer.json())).toMatchObject(response.like);
    if (response.fields !== undefined) {
      const { invalid_parameters = [], causes = [] } = answer.json<{
        invalid_parameters?: { field: string }[];
        causes?: { field: string }[];
      }>();
      expect(invalid_parameters.map(({ field }) => field)).toEqual(response.fields);
      expect(causes.map(({ field }) => field)).toEqual(response.fields);
    }
  });
});
