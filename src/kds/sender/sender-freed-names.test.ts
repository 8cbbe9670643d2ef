// A Kubernetes zone keeps the secrets of all meshes under their names alone, and refuses the second of a name. It gets that one when the first
// has gone.
import { expect, it } from 'vitest';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { TinyStore } from '../../../test/support/tiny-store.ts';
import { WAIT } from '../../../test/support/wait.ts';
import { decodeDeltaResponse, type DeltaRequest } from '../../wire/kds-messages.ts';
import { encodeStruct } from '../../wire/struct.ts';
import { log, start } from '../log/changelog.fixture.ts';
import { InitialSyncLimiter } from '../admission/initial-sync-limiter.ts';
import { Sender } from './sender.ts';

const TYPES = ['Mesh', 'Secret', 'GlobalSecret'];

/** The secrets of a zone on Kubernetes, as Kuma stores and refuses them: what is missing is created before the rest is deleted. */
class KubernetesSecrets {
  /** The type and wire name of each secret, by its name in the namespace of the system. */
  readonly stored = new Map<string, string>();

  /** @returns the text of the NACK; null for an ACK */
  apply(type: string, { resources, removed }: { readonly resources: readonly string[]; readonly removed: readonly string[] }) {
    let refusal: string | null = null;
    for (const wireName of resources) {
      const [name = '', mesh = ''] = wireName.split('.');
      const holder = this.stored.get(name);
      if (holder === undefined || holder === `${type} ${wireName}`) this.stored.set(name, `${type} ${wireName}`);
      else refusal = `user error\nresource already exists: type=${JSON.stringify(type)} name="${name}" mesh="${mesh}"`;
    }
    for (const wireName of removed)
      for (const [name, holder] of this.stored) if (holder === `${type} ${wireName}`) this.stored.delete(name);
    return refusal;
  }
}

/** A global with meshes and secrets, and a zone that has its first state. */
async function syncedZone(secrets: readonly (readonly [type: string, name: string, mesh: string])[]) {
  const clock = new ManualClock();
  const store = new TinyStore();
  const write = async (type: string, name: string, mesh: string): Promise<void> => {
    await store.write({ op: 'create', key: { type, mesh, name }, labels: {}, spec: type === 'Mesh' ? {} : { data: 'eA==' } });
  };
  for (const name of ['a', 'b', 'c']) await write('Mesh', name, '');
  for (const secret of secrets) await write(...secret);
  const changelog = start(store);
  await changelog.ready;
  const zone = new KubernetesSecrets();
  const responses: string[] = [];
  const metadata = encodeStruct({ features: ['hash-suffix'] });
  const ask = (typeUrl: string): DeltaRequest => ({
    ...{ node: { id: 'east', metadata }, typeUrl, subscribe: ['*'], unsubscribe: [] },
    ...{ initialResourceVersions: new Map(), responseNonce: '', errorDetail: null },
  });
  const sender = new Sender({
    ...{ peer: 'east', streamId: 's', identifier: 'global', changelog, zones: null, log, clock, maxMessageBytes: 100_000 },
    ...{ initialSyncLimiter: new InitialSyncLimiter(clock), fail: () => undefined, observe: () => undefined },
    send(message) {
      const { typeUrl, nonce, resources, removedResources: removed } = decodeDeltaResponse(message);
      const names = resources.map(({ name }) => name);
      responses.push(`${typeUrl} ${[...names, ...removed.map((name) => `-${name}`)].join(' ')}`);
      const text = typeUrl === 'Mesh' ? null : zone.apply(typeUrl, { resources: names, removed });
      const errorDetail = text === null ? null : { code: 0, message: text, details: [] };
      sender.handle({ ...ask(typeUrl), subscribe: [], responseNonce: nonce, errorDetail });
    },
  });
  for (const type of TYPES) sender.handle(ask(type));
  await expect.poll(() => responses.some((response) => response.startsWith('GlobalSecret'))).toBe(true);
  return {
    clock,
    store,
    sender,
    zone,
    responses,
    remove: (type: string, name: string, mesh: string) => store.write({ op: 'delete', key: { type, mesh, name } }),
  };
}

it.each([
  ['Secret', 'a', 'Secret', 'b'],
  ['Secret', 'b', 'Secret', 'a'],
  ['Secret', 'a', 'GlobalSecret', ''],
  ['GlobalSecret', '', 'Secret', 'a'],
] as const)('the %s of mesh %j goes, and the refused %s of mesh %j of its name is sent at once', async (...row) => {
  const [winner, winnerMesh, loser, loserMesh] = row;
  const { zone, sender, store, remove } = await syncedZone([[winner, 'x', winnerMesh]]);
  await store.write({ op: 'create', key: { type: loser, mesh: loserMesh, name: 'x' }, labels: {}, spec: { data: 'eA==' } });
  await expect.poll(() => sender.behind(), WAIT).toEqual([loser]);
  await remove(winner, 'x', winnerMesh);
  await expect.poll(() => zone.stored.get('x'), WAIT).toBe(`${loser} x.${loserMesh}`);
  await expect.poll(() => sender.behind(), WAIT).toEqual([]);
  sender.close();
});

it('a refused resource is sent again when one of its name has gone, and no other one is', async () => {
  const { zone, sender, responses, remove } = await syncedZone([
    ...['x', 'y'].flatMap((name) => ['a', 'b', 'c'].map((mesh) => ['Secret', name, mesh] as const)),
    ['Secret', 'z', 'a'],
  ]);
  const before = responses.length;
  await remove('Secret', 'z', 'a');
  await expect.poll(() => responses.slice(before), WAIT).toEqual(['Secret -z.a']);
  await remove('Secret', 'x', zone.stored.get('x')?.split('.')[1] ?? '');
  // One of the two others is stored, and the other is refused again.
  await expect.poll(() => zone.stored.get('x'), WAIT).toMatch(/^Secret x\./);
  const resent = responses.slice(before + 2).join(' ');
  expect(resent).not.toContain('y.');
  expect(sender.behind()).toEqual(['Secret']);
  sender.close();
});

it('a refused resource that nothing of its name stood in the way of is retried on the timer', async () => {
  const { clock, zone, sender } = await syncedZone([
    ['Secret', 'x', 'a'],
    ['Secret', 'x', 'b'],
  ]);
  expect(sender.behind()).toEqual(['Secret']);
  zone.stored.clear();
  await clock.advance(5_000);
  expect(sender.behind()).toEqual([]);
  sender.close();
});
