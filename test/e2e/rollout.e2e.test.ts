// A write says when each zone had it, and which zone has not: by REST and by the command line, also where another replica of global has
// the stream of the zone.
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import type { Answer } from '../../src/answers/answers.ts';
import { hasMesh } from '../chaos/steady-writes.ts';
import { startFleet, startSecondGlobal, WAIT, type ControlPlane, type Fleet } from '../support/control-plane.ts';
import { runMeridian } from '../support/run-meridian.ts';

type Rollout = Answer<'Rollout'>;
type Summary = Answer<'ChangeSummary'>;

const timeout = (name: string, idle: string): Record<string, unknown> => ({
  ...{ type: 'MeshTimeout', mesh: 'default', name },
  spec: { targetRef: { kind: 'Mesh' }, to: [{ targetRef: { kind: 'Mesh' }, default: { idleTimeout: idle } }] },
});
const path = (name: string): string => `/meshes/default/meshtimeouts/${name}`;

describe('the rollout of a change', () => {
  const started = new AsyncDisposableStack();
  let fleet: Fleet;
  let global: ControlPlane;
  let second: ControlPlane;
  let east: ControlPlane;
  let west: ControlPlane;

  type Answered = { readonly rollout: Rollout } & Rollout & { readonly items: Summary[]; readonly next: number | null };

  /** The answer as the one that the test expects. */
  async function ask(
    { api }: ControlPlane,
    method: string,
    at: string,
    body?: object,
  ): Promise<{ status: number; answer: Answered }> {
    const sent = body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
    const response = await fetch(`http://127.0.0.1:${String(api)}${at}`, { method, ...sent });
    return { status: response.status, answer: (await response.json()) as Answered };
  }

  async function run({ api }: ControlPlane, ...args: string[]): Promise<{ code: number | null; out: string }> {
    const env = { ...process.env, MERIDIAN_ADDRESS: `http://127.0.0.1:${String(api)}` };
    const { code, stdout, stderr } = await runMeridian(args, { env });
    return { code, out: stdout + stderr };
  }

  const statesOf = ({ targets }: Rollout): Record<string, string> =>
    Object.fromEntries(targets.map(({ to, state }) => [to, state]));
  const atBoth = { east: 'acknowledged', west: 'acknowledged' };

  beforeAll(async () => {
    fleet = await startFleet(inject('postgresUrl'), ['east', 'west'], { isQuiet: true });
    started.defer(fleet.stop);
    global = fleet.global;
    [east, west] = fleet.zones as [ControlPlane, ControlPlane];
    second = await startSecondGlobal(global);
    started.defer(async () => void (await second.end('SIGTERM')));
    for (const zone of [east, west]) await vi.waitFor(async () => expect(await hasMesh(zone)).toBe(true), WAIT);
  });
  afterAll(() => started.disposeAsync());

  it('comes with the answer of a PUT that waits for the zones', async () => {
    const { status, answer } = await ask(global, 'PUT', `${path('slow')}?wait=zones`, timeout('slow', '11s'));
    expect(status).toBe(201);
    expect(answer.rollout).toMatchObject({
      type: 'MeshTimeout',
      mesh: 'default',
      name: 'slow',
      version: 0,
      outcome: 'everywhere',
    });
    expect(statesOf(answer.rollout)).toEqual(atBoth);
    for (const { sentMs = -1, acknowledgedMs = -1 } of answer.rollout.targets) {
      expect(sentMs).toBeGreaterThan(0);
      expect(acknowledgedMs).toBeGreaterThanOrEqual(sentMs);
    }
    for (const zone of [east, west])
      expect([...(await zone.rows('MeshTimeout')).keys()].filter((name) => name.startsWith('slow-'))).toHaveLength(1);
  });

  it('is known on a replica without any stream: it asks the other', async () => {
    const { answer } = await ask(second, 'PUT', `${path('other')}?wait=zones`, timeout('other', '12s'));
    expect(statesOf(answer.rollout)).toEqual(atBoth);
    expect(answer.rollout.targets.every(({ acknowledgedMs }) => acknowledgedMs !== undefined)).toBe(true);
  });

  it('covers a change by psql, and a deletion', async () => {
    await global.psql.query(
      `update resources set spec = replace(spec, '11s', '13s'), version = version + 1 where type = 'MeshTimeout' and name = 'slow'`,
    );
    const changed = await ask(global, 'GET', `${path('slow')}/_rollout?wait=zones`);
    expect(changed.answer).toMatchObject({ version: 1, isRemoval: false, outcome: 'everywhere' });
    const { answer } = await ask(global, 'DELETE', `${path('slow')}?wait=zones`);
    expect(answer.rollout).toMatchObject({ version: null, isRemoval: true, outcome: 'everywhere' });
    expect(statesOf(answer.rollout)).toEqual(atBoth);
    const later = await ask(global, 'GET', `${path('slow')}/_rollout`);
    expect(later.answer).toMatchObject({ isRemoval: true });
    expect((await ask(global, 'GET', `${path('never-was')}/_rollout`)).status).toBe(404);
  });

  it('of a resource of a zone tells the way to global in the zone, and the way to other zones on global', async () => {
    const service = { type: 'MeshService', mesh: 'default', name: 'cart', labels: { 'kuma.io/origin': 'zone' }, spec: {} };
    const up = await ask(east, 'PUT', '/meshes/default/meshservices/cart?wait=zones', service);
    expect(statesOf(up.answer.rollout)).toEqual({ global: 'acknowledged' });
    const name = [...(await global.rows('MeshService')).keys()].find((one) => one.startsWith('cart-')) ?? '';
    const onward = await ask(global, 'GET', `/meshes/default/meshservices/${name}/_rollout?wait=zones`);
    expect(statesOf(onward.answer)).toEqual({ east: 'hidden', west: 'acknowledged' });
  });

  it('of a resource of a zone tells both hops in the zone', async () => {
    const service = { type: 'MeshService', mesh: 'default', name: 'both', labels: { 'kuma.io/origin': 'zone' }, spec: {} };
    const { answer } = await ask(east, 'PUT', '/meshes/default/meshservices/both?wait=zones', service);
    const { outcome, targets, onward } = answer.rollout;
    expect(outcome).toBe('everywhere');
    expect(targets).toMatchObject([{ to: 'global', state: 'acknowledged' }]);
    expect(onward?.targets).toMatchObject([{ to: 'west', state: 'acknowledged' }]);
    expect(onward?.targets[0]?.acknowledgedMs).toBeGreaterThan(0);
    const status = await run(east, 'rollout', 'status', 'meshservice', 'both');
    expect(status.out).toMatch(/other zones: 1 of 1 have it.*\n\nZONE .*\nwest +has it/);
    const removed = await run(east, 'delete', 'meshservice', 'both', '--wait');
    expect(removed).toMatchObject({ code: 0, out: expect.stringMatching(/other zones: 1 of 1 have it/) as string });
    const unsent = { ...service, type: 'MeshTimeout', name: 'stays', spec: timeout('stays', '4s')['spec'] };
    const stays = await ask(east, 'PUT', `${path('stays')}?wait=zones`, unsent);
    expect(stays.answer.rollout).toMatchObject({ outcome: 'everywhere', onward: { note: 'only producer policies cross zones' } });
  });

  it('says why a resource goes to no zone', async () => {
    const labels = { 'kuma.io/kds-sync': 'disabled' };
    const { answer } = await ask(global, 'PUT', `${path('local')}?wait=zones`, {
      ...timeout('local', '1s'),
      labels,
    });
    expect(answer.rollout).toMatchObject({ outcome: 'everywhere', targets: [], note: 'label kuma.io/kds-sync is disabled' });
  });

  it.each(['wait=now', 'timeout=5s', 'wait=zones&timeout=soon', 'wait=zones&timeout=6m'])(
    'refuses %s and stores nothing',
    async (query) => {
      const { status } = await ask(global, 'PUT', `${path('bad-query')}?${query}`, timeout('bad-query', '1s'));
      expect(status).toBe(400);
      expect((await global.rows('MeshTimeout')).has('bad-query')).toBe(false);
    },
  );

  it('lists the last changes, and one of them with its zones', async () => {
    const { answer } = await ask(global, 'GET', '/_changes?size=2');
    expect(answer.items).toHaveLength(2);
    const [newest, before] = answer.items as [Summary, Summary];
    expect(newest.id).toBeGreaterThan(before.id);
    expect(answer.next).toBe(before.id);
    const one = await ask(global, 'GET', `/_changes/${String(newest.id)}`);
    expect(one.answer).toMatchObject({ change: newest.id, type: newest.type, counts: newest.counts });
    const next = await ask(global, 'GET', `/_changes?size=2&before=${String(before.id)}`);
    expect(next.answer.items.every(({ id }) => id < before.id)).toBe(true);
    expect((await ask(global, 'GET', '/_changes/99999999')).status).toBe(404);
  });

  it('names a zone that is away, and the exit code of the command says so', async () => {
    await west.end('SIGKILL');
    const removed = await run(global, 'delete', 'meshtimeout', 'other', '--wait', '--timeout', '20s');
    expect(removed.out).toMatch(/MeshTimeout default\/other \(removed\): 1 of 2 have it/);
    expect(removed.out).toMatch(/west is not connected/);
    expect(removed.code).toBe(8);
    west.start();
    await expect.poll(async () => (await run(global, 'rollout', 'status', 'meshtimeout', 'other', '--wait')).code, WAIT).toBe(0);
  });
});
