// What changes in a fleet of real processes, as a page and the command line see it: changes with the zones that have them, a zone that is
// killed, and how far each zone is, also at a replica of global without any stream.
import { execFile, spawn } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import type { Answer } from '../../src/answers/answers.ts';
import { hasMesh } from '../chaos/steady-writes.ts';
import { endWithTest } from '../support/children.ts';
import { MERIDIAN, startFleet, startSecondGlobal, WAIT, type ControlPlane, type Fleet } from '../support/control-plane.ts';

type Item = Record<string, unknown>;

describe('the events of a fleet', () => {
  const started = new AsyncDisposableStack();
  let fleet: Fleet;
  let global: ControlPlane;
  let second: ControlPlane;
  let west: ControlPlane;

  const timeout = (name: string): Record<string, unknown> => ({
    ...{ type: 'MeshTimeout', mesh: 'default', name },
    spec: { targetRef: { kind: 'Mesh' }, to: [{ targetRef: { kind: 'Mesh' }, default: { idleTimeout: '11s' } }] },
  });

  async function read<T>({ api }: ControlPlane, path: string): Promise<T> {
    return (await (await fetch(`http://127.0.0.1:${String(api)}${path}`)).json()) as T;
  }

  function envOf({ api }: ControlPlane): NodeJS.ProcessEnv {
    return { ...process.env, MERIDIAN_ADDRESS: `http://127.0.0.1:${String(api)}` };
  }

  /** `meridian events -o json`, as far as it has printed. */
  function follow(plane: ControlPlane): (event: string) => Item[] {
    const child = endWithTest(
      spawn(MERIDIAN, ['events', '-o', 'json'], { env: envOf(plane), stdio: ['ignore', 'pipe', 'inherit'] }),
    );
    let text = '';
    child.stdout.on('data', (bytes: Buffer) => (text += bytes.toString()));
    const items = (): Item[] => text.split('\n').slice(0, -1).map((line) => JSON.parse(line) as Item); // oxfmt-ignore
    return (event) => items().filter((item) => item['event'] === event);
  }

  beforeAll(async () => {
    fleet = await startFleet(inject('postgresUrl'), ['east', 'west'], { isQuiet: true });
    started.defer(fleet.stop);
    global = fleet.global;
    west = fleet.zones[1] as ControlPlane;
    second = await startSecondGlobal(global);
    started.defer(async () => void (await second.end('SIGTERM')));
    for (const zone of fleet.zones) await vi.waitFor(async () => expect(await hasMesh(zone)).toBe(true), WAIT);
  });
  afterAll(() => started.disposeAsync());

  it('count the zones that have a change, also at a replica without their streams', async () => {
    const [events, elsewhere] = [follow(global), follow(second)];
    await expect.poll(() => elsewhere('resync'), WAIT).toHaveLength(1);
    await expect.poll(() => events('resync'), WAIT).toHaveLength(1);
    expect(await global.put('/meshes/default/meshtimeouts/slow', timeout('slow'))).toBe(201);
    const newest = (): Item | undefined => events('changes').findLast(({ name }) => name === 'slow');
    await expect.poll(newest, WAIT).toMatchObject({ type: 'MeshTimeout', mesh: 'default', version: 0, targets: 2, applied: 2 });
    const there = (): Item | undefined => elsewhere('changes').findLast(({ name }) => name === 'slow');
    await expect.poll(there, WAIT).toMatchObject({ version: 0, targets: 2, applied: 2 });
    const { items } = await read<{ items: Answer<'ChangeSummary'>[] }>(global, '/_changes?size=5');
    expect(items.find(({ id }) => id === newest()?.['id'])).toMatchObject({ name: 'slow', counts: { acknowledged: 2 } });
  });

  it('the progress of zones is known at a replica without their streams', async () => {
    const ofZones = async (plane: ControlPlane): Promise<Answer<'ZoneProgress'>[]> =>
      (await read<{ items: Answer<'ZoneProgress'>[] }>(plane, '/zones/_progress')).items;
    await expect
      .poll(
        async () => (await ofZones(second)).map(({ types }) => types?.find(({ type }) => type === 'MeshTimeout')?.behind),
        WAIT,
      )
      .toEqual([0, 0]);
    const [east] = await ofZones(second);
    const { instanceId } = await read<{ instanceId: string }>(global, '/');
    expect(east).toMatchObject({ name: 'east', instanceId });
    expect(east?.types?.find(({ type }) => type === 'MeshTimeout')?.confirmedAt).not.toBeNull();
    expect(await read<Answer<'ZoneProgress'>>(second, '/zones/east/_progress')).toMatchObject({ name: 'east', instanceId });
    expect((await fetch(`http://127.0.0.1:${String(global.api)}/zones/none/_progress`)).status).toBe(404);
    expect((await fetch(`http://127.0.0.1:${String(global.api)}/zones/_progress?size=101`)).status).toBe(400);
  });

  it('an explanation names the version that a zone has confirmed', async () => {
    const { items } = await read<{ items: Answer<'SyncExplanation'>[] }>(global, '/meshes/default/meshtimeouts/_sync');
    const slow = items.find(({ storedName }) => storedName === 'slow');
    const confirmed = { version: 0, at: expect.any(String) as string };
    expect(slow?.targets).toMatchObject([{ to: 'east', confirmed }, { to: 'west', confirmed }]); // oxfmt-ignore
  });

  it('an explanation of one resource is complete at a replica without the streams', async () => {
    const states = async (): Promise<unknown> => {
      const path = '/meshes/default/meshtimeouts/slow/_sync';
      return (await read<Answer<'SyncExplanation'>>(second, path)).targets.map(({ to, state }) => [
        to,
        state?.kind,
        state?.version,
      ]);
    };
    await expect.poll(states, WAIT).toEqual([
      ['east', 'inSync', 0],
      ['west', 'inSync', 0],
    ]);
  });

  it('replicas know each other, and which of them leads', async () => {
    const replicasOf = async (plane: ControlPlane): Promise<Answer<'Replicas'>> => read(plane, '/_replicas');
    await expect.poll(async () => (await replicasOf(global)).replicas.length, WAIT).toBe(2);
    const [here, there] = [await replicasOf(global), await replicasOf(second)];
    expect(here.leader).not.toBeNull();
    expect(there.leader).toBe(here.leader);
  });

  it('a zone that is killed is a problem until it is back', async () => {
    const events = follow(second);
    await expect.poll(() => events('resync'), WAIT).toHaveLength(1);
    await west.end('SIGKILL');
    const away = { id: 'zoneAway/west', zone: 'west', runbook: 'docs/runbook.md#a-zone-is-not-connected' };
    await expect.poll(() => events('problems'), WAIT).toMatchObject([away]);
    await expect.poll(() => events('zones').at(-1), WAIT).toMatchObject({ name: 'west', sync: { state: 'offline' } });
    const printed = await new Promise<{ code: number; out: string }>((resolve) =>
      execFile(MERIDIAN, ['inspect', 'problems'], { env: envOf(global) }, (error, out, err) =>
        resolve({ code: Number(error?.code ?? 0), out: out + err }),
      ),
    );
    expect(printed.out).toMatch(/zoneAway\s+west/);
    expect(printed.code).toBe(0);
    west.start();
    await expect.poll(() => events('problems').at(-1), WAIT).toMatchObject({ id: 'zoneAway/west', isSolved: true });
  });
});
