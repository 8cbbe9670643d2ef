// Commands against a zone or a global with a store in memory: what depends on the side that answers, and on the rights of the caller.
import { beforeEach, expect, it } from 'vitest';
import { defaultAccess, tokenAccess, type AccessRules } from '../../src/http/access.ts';
import type { ApiOptions } from '../../src/api/api-options.ts';
import { addPolicyInspect } from '../../src/inspect/add-inspect-routes.ts';
import { globalSendRules } from '../../src/kds/protocol/rules.ts';
import { testApi, type Place } from '../api/test-api.ts';
import { runMeridian, type Outcome } from '../support/run-meridian.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { TinyStore } from '../support/tiny-store.ts';

let store: TinyStore;
/** Where an edit that was refused keeps its text. */
let folder: string;

beforeEach(async () => {
  folder = temporaryFolder();
  store = new TinyStore();
  await store.write({ op: 'create', key: { type: 'Mesh', mesh: '', name: 'shop' }, labels: {}, spec: {} });
});

type Given = { readonly input?: string; readonly env?: NodeJS.ProcessEnv; readonly more?: Partial<ApiOptions> };

/** Runs a command with a control plane of that kind, whose address is also in place of ADDRESS. */
async function at(place: Place, args: readonly string[], { input = '', env = {}, more = {} }: Given = {}): Promise<Outcome> {
  const api = testApi(store, place, { addRoutes: addPolicyInspect(globalSendRules()), ...more });
  try {
    const address = await api.listen({ host: '127.0.0.1', port: 0 });
    const words = args.map((word) => (word === 'ADDRESS' ? address : word));
    return await runMeridian(words, { input, env: { ...process.env, TMPDIR: folder, MERIDIAN_ADDRESS: address, ...env } });
  } finally {
    await api.close();
  }
}

const SPEC = { to: [{ targetRef: { kind: 'Mesh' }, default: { connectionTimeout: '1s' } }] };
/** No token is valid: every caller is anonymous. */
function asAnonymous(rules: Partial<AccessRules> = {}): Partial<ApiOptions> {
  const verifier = { user: () => Promise.resolve({ ok: false, reason: '' } as const) };
  const follow = { follow: () => () => undefined };
  const access = tokenAccess({ type: 'none', localhostIsAdmin: false }, verifier, follow, { ...defaultAccess, ...rules });
  return { access };
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
  const refused = await at('zone', ['apply', '-f', '-'], { input });
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
  const own = { ...labels, 'kuma.io/origin': 'zone' };
  const input = JSON.stringify({ type: 'MeshTimeout', mesh: 'shop', name: 'new', labels: own, spec: SPEC });
  const prune = ['apply', '-f', '-', '--prune', '-l', 'set=a'];
  const reason = 'MeshMultiZoneService cannot be written here: write it on a global';
  for (const more of [['--dry-run'], []]) {
    const { code, stdout, stderr } = await at('zone', [...prune, '-o', 'json', ...more], { input });
    const [, ...pruned] = JSON.parse(stdout) as unknown[];
    expect(pruned).toEqual([
      { type: 'MeshTimeout', mesh: 'shop', name: 'old', result: 'pruned' },
      { type: 'MeshMultiZoneService', mesh: 'shop', name: 'old', result: 'failed', messages: [expect.stringContaining(reason)] },
    ]);
    expect([code, stderr]).toEqual([1, 'meridian: 1 of 2 resources could not be pruned\n']);
  }
  expect((await at('zone', prune, { input })).stdout).toContain('MeshMultiZoneService shop/old cannot be pruned: ');
  expect([...store.rows.values()].map(({ type }) => type)).toEqual(['Mesh', 'Zone', 'MeshMultiZoneService', 'MeshTimeout']);
});

it('apply --prune keeps what the zone computes, such as a MeshService of its Dataplanes', async () => {
  for (const [name, managedBy] of [
    ['computed', 'meshservice-generator'],
    ['written', 'helm'],
  ] as const) {
    const labels = { 'kuma.io/origin': 'zone', 'kuma.io/zone': 'east', 'kuma.io/managed-by': managedBy };
    await store.write({ op: 'create', key: { type: 'MeshService', mesh: 'shop', name }, labels, spec: {} });
  }
  const input = JSON.stringify({ type: 'MeshTimeout', mesh: 'shop', name: 'new', labels: {}, spec: SPEC });
  const { stdout } = await at('zone', ['apply', '-f', '-', '--prune', '-l', 'kuma.io/zone=east'], { input });
  expect(stdout).toContain('MeshService shop/written pruned');
  expect(stdout).not.toContain('computed');
});

it('apply and edit say at once that a resource is a copy', async () => {
  const key = { type: 'MeshTimeout', mesh: 'shop', name: 'slow' };
  await store.write({ op: 'create', key, labels: { 'kuma.io/origin': 'global' }, spec: SPEC, syncVersion: 'v1' });
  const copy = 'this is a copy of a resource of global: update it there';
  for (const labels of [{ 'kuma.io/origin': 'global' }, { 'kuma.io/origin': 'zone' }, {}]) {
    const changed = JSON.stringify({ ...key, labels, spec: SPEC });
    const other = JSON.stringify({ ...key, name: 'new', labels: { 'kuma.io/origin': 'global' }, spec: SPEC });
    const { code, stderr } = await at('zone', ['apply', '-f', '-'], { input: `${changed}\n---\n${other}` });
    expect([code, stderr.split(copy).length, stderr.split('must be zone').length]).toEqual([1, 2, 2]);
  }
  const edit = ['edit', 'mt', 'slow', '--mesh', 'shop', '--address', 'ADDRESS'];
  const { code, stderr } = await at('zone', edit, { env: { EDITOR: 'sed -i s/1s/2s/' } });
  expect(code).toBe(1);
  expect(stderr).toContain(copy);
  expect(stderr).not.toContain('must be zone');
  expect(stderr).toMatch(/meridian apply -f \S+ --address http:\/\/127\.0\.0\.1:\d+\n/);
});

it('a caller who may not write learns nothing of a copy, and edit does not suggest to store the text', async () => {
  const key = { type: 'MeshTimeout', mesh: 'shop', name: 'slow' };
  await store.write({ op: 'create', key, labels: { 'kuma.io/origin': 'global' }, spec: SPEC, syncVersion: 'v1' });
  const more = asAnonymous({ resources: [] });
  const input = JSON.stringify({ ...key, labels: { 'kuma.io/origin': 'global' }, spec: SPEC });
  const applied = await at('zone', ['apply', '-f', '-'], { input, more });
  expect(applied.stderr).toContain('may not write');
  expect(applied.stderr).not.toContain('copy');
  const edited = await at('global', ['edit', 'mt', 'slow', '--mesh', 'shop'], { env: { EDITOR: 'sed -i s/1s/2s/' }, more });
  expect(edited).toMatchObject({ code: 1, stderr: expect.stringMatching(/may not write[^]*meridian diff -f/) as string });
  expect(edited.stderr).not.toContain('meridian apply');
});

it('export with secrets prints nothing for a caller who may not read them', async () => {
  const exported = await at('global', ['export', '--include-secrets'], { more: asAnonymous() });
  expect(exported).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringContaining('may not read or write secrets') as string,
  });
  expect((await at('global', ['export'], { more: asAnonymous() })).stdout).toContain('name: shop');
});
