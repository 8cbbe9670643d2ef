// `_sync`, `_matrix` and a preview in a zone that has no global: nothing is sent, whatever the rules say.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { FastifyInstance } from 'fastify';
import { addPolicyInspect } from '../../src/inspect/add-inspect-routes.ts';
import { zoneSendRules } from '../../src/kds/protocol/rules.ts';
import { testApi } from '../api/test-api.ts';
import { TinyStore } from '../support/tiny-store.ts';

const NOT_SENT = { to: 'global', isSent: false, name: null, reason: 'this zone has no global' };

const to = [{ targetRef: { kind: 'Mesh' }, default: { idleTimeout: '1s' } }];

let app: FastifyInstance;

beforeEach(async () => {
  const store = new TinyStore();
  const create = async (type: string, mesh: string, name: string, labels = {}, spec = {}): Promise<void> => {
    await store.write({ op: 'create', key: { type, mesh, name }, labels, spec });
  };
  await create('Mesh', '', 'default');
  await create('Zone', '', 'east');
  await create('MeshTimeout', 'default', 'slow', { 'kuma.io/origin': 'zone' }, { to });
  app = testApi(store, 'alone', { addRoutes: addPolicyInspect(zoneSendRules({ zone: 'east' })) });
});
afterEach(() => app.close());

async function get(path: string): Promise<Record<string, unknown>> {
  return (await app.inject(path)).json();
}

describe('a zone without a global', () => {
  it('explains that it sends a resource to no other control plane', async () => {
    expect(await get('/meshes/default/meshtimeouts/slow/_sync')).toMatchObject({ from: 'east', targets: [NOT_SENT] });
    expect(await get('/meshes/default/meshtimeouts/_sync')).toMatchObject({ items: [{ targets: [NOT_SENT] }] });
  });

  it('previews a resource as not sent', async () => {
    const document = { type: 'MeshTimeout', mesh: 'default', name: 'new', labels: { 'kuma.io/origin': 'zone' }, spec: { to } };
    const { items } = (await app.inject({ method: 'POST', url: '/_preview', payload: [document] })).json<{ items: unknown }>();
    expect(items).toMatchObject([{ sync: { targets: [NOT_SENT] } }]);
  });

  it('has no target in a matrix that gets a resource', async () => {
    const { isSent, name, reason } = NOT_SENT;
    expect(await get('/meshes/default/meshtimeouts/_matrix')).toMatchObject({
      items: [{ verdicts: [{ isSent, name, reason }] }],
    });
  });
});
