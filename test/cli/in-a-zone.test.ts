// Commands against a zone or a global with a store in memory: what depends on the side that answers.
import { beforeEach, expect, it } from 'vitest';
import { addPolicyInspect } from '../../src/inspect/add-inspect-routes.ts';
import { globalSendRules } from '../../src/kds/rules.ts';
import { testApi, type Place } from '../api/test-api.ts';
import { runMeridian, type Outcome } from '../support/run-meridian.ts';
import { TinyStore } from '../support/tiny-store.ts';

let store: TinyStore;

beforeEach(async () => {
  store = new TinyStore();
  await store.write({ op: 'create', key: { type: 'Mesh', mesh: '', name: 'shop' }, labels: {}, spec: {} });
});

/** Runs a command with a control plane of that kind. */
async function at(place: Place, args: readonly string[], input = ''): Promise<Outcome> {
  const api = testApi(store, place, { addRoutes: addPolicyInspect(globalSendRules()) });
  try {
    const address = await api.listen({ host: '127.0.0.1', port: 0 });
    return await runMeridian(args, { input, env: { ...process.env, MERIDIAN_ADDRESS: address } });
  } finally {
    await api.close();
  }
}

const REVOCATIONS = { type: 'Secret', mesh: 'shop', name: 'dataplane-token-revocations-shop' };

it('token revoke sends a person from a zone to its global, and writes nothing', async () => {
  const revoke = ['token', 'revoke', '--kind', 'dataplane', '--mesh', 'shop', '--id', 'a'];
  const refused = await at('zone', revoke);
  expect(refused).toMatchObject({ code: 1, stdout: '' });
  expect(refused.stderr).toContain(
    'is a zone with a global, which has the list of revoked dataplane tokens: revoke the token there',
  );
  expect(await store.get(REVOCATIONS)).toBeUndefined();
  expect(await at('alone', revoke)).toMatchObject({ code: 0, stderr: '' });
  expect(await store.get(REVOCATIONS)).toBeDefined();
});

it('apply stores no list of revoked tokens in a zone with a global', async () => {
  const input = JSON.stringify({ ...REVOCATIONS, data: 'YQ==' });
  const refused = await at('zone', ['apply', '-f', '-'], input);
  expect(refused).toMatchObject({ code: 1, stdout: '' });
  expect(refused.stderr).toContain('this zone has the list of revoked tokens from its global: revoke the token there');
  expect(await store.get(REVOCATIONS)).toBeUndefined();
});

it.each<[Place, args: string, said: string]>([
  ['global', 'zone accept-global', 'this control plane is the global: another global is accepted in the zone, so call the zone'],
  ['alone', 'zone accept-global', 'this control plane is zone east, which has no global: another global is accepted in a zone'],
  [
    'zone',
    'zone adopt east',
    'this control plane is zone east: another store of a zone is accepted on global, so call the global',
  ],
  ['global', 'identity rotate identity --mesh shop', 'this control plane is the global: each zone has an authority of its own'],
  ['global', 'inspect identity identity --mesh shop', 'this control plane is the global: each zone has an authority of its own'],
])('a command of the other side names both sides: at %s, %s', async (place, args, said) => {
  await store.write({ op: 'create', key: { type: 'MeshIdentity', mesh: 'shop', name: 'identity' }, labels: {}, spec: {} });
  const { code, stdout, stderr } = await at(place, args.split(' '));
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toContain(said);
});

it('apply --prune keeps a Zone, and names a deletion that is refused, also as a dry run', async () => {
  const labels = { set: 'a' };
  for (const [type, mesh] of [
    ['Zone', ''],
    ['MeshMultiZoneService', 'shop'],
    ['MeshTimeout', 'shop'],
  ] as const)
    await store.write({ op: 'create', key: { type, mesh, name: 'old' }, labels, spec: {} });
  const spec = { to: [{ targetRef: { kind: 'Mesh' }, default: { connectionTimeout: '1s' } }] };
  const own = { ...labels, 'kuma.io/origin': 'zone' };
  const input = JSON.stringify({ type: 'MeshTimeout', mesh: 'shop', name: 'new', labels: own, spec });
  const prune = ['apply', '-f', '-', '--prune', '-l', 'set=a'];
  const reason = 'MeshMultiZoneService cannot be written here: write it on a global';
  for (const more of [['--dry-run'], []]) {
    const { code, stdout, stderr } = await at('zone', [...prune, '-o', 'json', ...more], input);
    const [, ...pruned] = JSON.parse(stdout) as unknown[];
    expect(pruned).toEqual([
      { type: 'MeshTimeout', mesh: 'shop', name: 'old', result: 'pruned' },
      { type: 'MeshMultiZoneService', mesh: 'shop', name: 'old', result: 'failed', messages: [expect.stringContaining(reason)] },
    ]);
    expect([code, stderr]).toEqual([1, 'meridian: 1 of 2 resources could not be pruned\n']);
  }
  expect((await at('zone', prune, input)).stdout).toContain('MeshMultiZoneService shop/old cannot be pruned: ');
  expect([...store.rows.values()].map(({ type }) => type)).toEqual(['Mesh', 'Zone', 'MeshMultiZoneService', 'MeshTimeout']);
});
