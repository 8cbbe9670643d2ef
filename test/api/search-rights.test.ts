// What a caller may not read is found by no search: not by a filter of a list, and in no other answer.
import type { FastifyInstance } from 'fastify';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ReplicaQuestions } from '../../src/replicas/replica-questions.ts';
import { addPolicyInspect } from '../../src/inspect/add-inspect-routes.ts';
import { MeridianError } from '../../src/base/errors.ts';
import { Changelog } from '../../src/kds/log/changelog.ts';
import { globalSendRules } from '../../src/kds/protocol/rules.ts';
import { addReceiptRoutes } from '../../src/receipts/receipt-routes.ts';
import { Receipts } from '../../src/receipts/receipts.ts';
import { ANY_ZONE } from '../../src/resource/zone-profile.ts';
import { following } from '../support/following.ts';
import { TinyStore } from '../support/tiny-store.ts';
import { testApi } from './test-api.ts';

type Operation = { readonly parameters?: readonly { readonly name: string; readonly in: string }[] };

/** What is searched for: a part of the names of secrets and of a policy. */
const TEXT = 'needle';
const VISIBLE = 'needle-policy';
const HIDDEN = ['needle-password', 'needle-key'] as const;
const ANONYMOUS = '192.0.2.7';

let app: FastifyInstance;
let stop: AbortController;

beforeEach(async () => {
  stop = new AbortController();
  const store = new TinyStore().withZones('east');
  const questions = new ReplicaQuestions({ store, instanceId: 'cp-1', ...following });
  const receipts = new Receipts({ mode: 'global', store, questions, instanceId: 'cp-1', ...following });
  const changelog = new Changelog(store, globalSendRules(), following.log);
  void changelog.run(stop.signal);
  await changelog.ready;
  receipts.serve(changelog, { names: () => ['east'], profileOf: () => ANY_ZONE });
  app = testApi(store, 'global', {
    addRoutes: (api, context) => {
      addPolicyInspect(globalSendRules())(api, context);
      addReceiptRoutes(
        api,
        context,
        receipts,
        async () => await Promise.reject(new MeridianError('unavailable', 'not followed here')),
      );
    },
  });
  const rows = [
    ['Mesh', '', 'default'],
    ['MeshTimeout', 'default', VISIBLE],
    ['Secret', 'default', HIDDEN[0]],
    ['GlobalSecret', '', HIDDEN[1]],
  ] as const;
  for (const [type, mesh, name] of rows) {
    const labels = { 'kuma.io/display-name': name };
    await store.write({ op: 'create', key: { type, mesh, name }, labels, spec: {} });
  }
});

afterEach(async () => {
  stop.abort();
  await app.close();
});

/** The address of each GET, with the text wherever it takes a name or a label to search for. */
async function searches(): Promise<readonly string[]> {
  const { paths } = (await app.inject('/openapi.json')).json<{ paths: Record<string, { get?: Operation }> }>();
  return Object.entries(paths).flatMap(([path, { get }]) => {
    if (get === undefined) return [];
    const filled = path.replaceAll('{mesh}', 'default').replaceAll(/\{\w+\}/g, TEXT);
    const byName = get.parameters?.some((one) => one.in === 'query' && one.name === 'name') === true;
    return byName ? [filled, `${filled}?name=${TEXT}`] : [filled];
  });
}

async function found(remoteAddress: string): Promise<Map<string, readonly string[]>> {
  const hits = new Map<string, string[]>();
  for (const url of await searches()) {
    const { body } = await app.inject({ url, remoteAddress });
    for (const name of [VISIBLE, ...HIDDEN]) if (body.includes(name)) hits.set(name, [...(hits.get(name) ?? []), url]);
  }
  return hits;
}

describe('a search', () => {
  it('finds secrets for an admin, so that a search for others is a test', async () => {
    const hits = await found('127.0.0.1');
    expect(hits.get(HIDDEN[0])).toEqual(expect.arrayContaining([`/meshes/default/secrets?name=${TEXT}`, '/_changes']));
    expect(hits.get(HIDDEN[1])).toEqual(expect.arrayContaining([`/globalsecrets?name=${TEXT}`, '/_changes']));
  });

  it('finds no secret for a caller who may not read secrets, by no route', async () => {
    const hits = await found(ANONYMOUS);
    expect(hits.get(VISIBLE)).toEqual(
      expect.arrayContaining([`/meshtimeouts?name=${TEXT}`, `/meshes/default/meshtimeouts?name=${TEXT}`, '/_changes']),
    );
    expect(HIDDEN.map((name) => hits.get(name))).toEqual([undefined, undefined]);
  });

  it('says the same of a secret that is there and of one that is not', async () => {
    const answer = async (name: string): Promise<unknown[]> => {
      const urls = ['', '/_sync', '/_rollout', '/_history'].map((end) => `/meshes/default/secrets/${name}${end}`);
      const answers = urls.map(async (url) => await app.inject({ url, remoteAddress: ANONYMOUS }));
      return (await Promise.all(answers)).map(({ statusCode, body }) => [statusCode, body.replaceAll(name, 'NAME')]);
    };
    const there = await answer(HIDDEN[0]);
    expect(there).toEqual(await answer('no-such-password'));
    expect(there.map((one) => (one as unknown[])[0])).toEqual([403, 403, 403, 403]);
  });
});
