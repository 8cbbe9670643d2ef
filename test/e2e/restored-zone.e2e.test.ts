// A zone lost its database and has no backup: the steps of docs/runbook.md, "Restore a zone", with real processes.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { ControlPlane, startFleet, WAIT, type Fleet } from '../support/control-plane.ts';
import { zoneEnv } from '../support/control-plane-env.ts';
import { documentedBlocks } from '../support/documented-blocks.ts';
import { freePort } from '../support/free-port.ts';
import { cloneDatabase } from '../support/postgres-database.ts';
import { outputOf, runMeridian } from '../support/run-meridian.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const url = inject('postgresUrl');
const OWN = ['Dataplane cart-1', 'MeshService cart', 'MeshTimeout slow'];

const WRITTEN = `
type: Dataplane
mesh: default
name: cart-1
labels: { app: cart }
networking: { address: 192.0.2.1, inbound: [{ port: 80, name: http }] }
---
type: MeshService
mesh: default
name: cart
spec: { selector: { dataplaneLabels: { matchLabels: { app: cart } } }, ports: [{ port: 80 }] }
---
type: MeshTimeout
mesh: default
name: slow
spec: { to: [{ targetRef: { kind: Mesh }, default: { connectionTimeout: 7s } }] }
`;

let fleet: Fleet;
let next: ControlPlane;

beforeAll(async () => {
  fleet = await startFleet(url, ['east', 'west'], { isQuiet: true });
  next = new ControlPlane('zone', await cloneDatabase(url), await freePort(), {
    ...zoneEnv('east', fleet.kds),
    MERIDIAN_DIAGNOSTICS_SERVER_PORT: String(await freePort()),
  });
  next.isQuiet = true;
  await next.psql.connect();
});

afterAll(async () => {
  await next.end('SIGTERM');
  await next.psql.end();
  await fleet.stop();
});

function addressOf({ api }: ControlPlane): string[] {
  return ['--address', `http://127.0.0.1:${String(api)}`];
}

/** `type display name` of what this control plane has of the zone east. */
async function ofEast({ psql }: ControlPlane): Promise<string[]> {
  const { rows } = await psql.query<{ name: string }>(
    `select type || ' ' || (labels->>'kuma.io/display-name') as name from resources where labels->>'kuma.io/zone' = 'east'
      and type in ('Dataplane', 'MeshService', 'MeshTimeout') order by 1`,
  );
  return rows.map(({ name }) => name);
}

it('a zone without a backup gets its resources from the database of global after it is adopted, and not before', async () => {
  const [east, west] = fleet.zones as [ControlPlane, ControlPlane];
  await expect.poll(async () => (await east.rows('Mesh')).has('default'), WAIT).toBe(true);
  await outputOf(['apply', '-f', '-', ...addressOf(east)], { input: WRITTEN });
  await expect.poll(() => ofEast(fleet.global), WAIT).toEqual(OWN);
  await east.end('SIGTERM');

  const [steps] = documentedBlocks('runbook.md', 'Restore a zone', 'sh');
  expect(steps.match(/^meridian (zone|get|apply)/gm)).toEqual([
    'meridian zone',
    'meridian zone',
    'meridian get',
    'meridian apply',
  ]);
  const query = /psql -d meridian -At -c "([^"]+)" > east.yaml/.exec(steps)?.[1] ?? '';
  const { rows } = await fleet.global.psql.query<Record<string, string>>(query);
  const file = join(temporaryFolder(), 'east.yaml');
  writeFileSync(file, rows.flatMap((row) => Object.values(row)).join('\n'));

  next.start();
  await expect.poll(() => next.lastWords(), WAIT).toContain('meridian zone adopt east');
  const early = await runMeridian(['apply', '-f', file, ...addressOf(next)]);
  expect(early.stderr).toContain('there is no mesh "default"');
  await outputOf(['zone', 'adopt', 'east', ...addressOf(fleet.global)]);
  await expect.poll(async () => (await next.rows('Mesh')).has('default'), WAIT).toBe(true);
  await outputOf(['apply', '-f', file, ...addressOf(next)]);
  expect(await ofEast(next)).toEqual(OWN);
  await expect.poll(() => ofEast(fleet.global), WAIT).toEqual(OWN);
  await expect.poll(() => ofEast(west), WAIT).toEqual(['MeshService cart']);
});
