// A MeshIdentity that is made on global: global shows the configuration of its proxies as their zone does.
import { expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { createLogger } from '../../src/base/log.ts';
import { reconcileIdentities } from '../../src/reconcile/identities/run-identities.ts';
import { objectOf } from '../../src/resource/read-json.ts';
import { meshOfTwoZones } from './mesh-of-two-zones.ts';

const mesh = meshOfTwoZones();
const { planes } = mesh;

it('global and the zone show the same listeners, clusters and trust bundle', async () => {
  const provider = { type: 'Bundled', bundled: { autogenerate: { enabled: true } } };
  const spec = { selector: { dataplane: { matchLabels: {} } }, spiffeID: { path: '/{{ label "app" }}' }, provider };
  await mesh.apply('global', { type: 'MeshIdentity', name: 'identity', spec });
  await planes.rest();
  const options = { zone: 'east', otherZonesMs: 0, clock: systemClock, log: createLogger('silent') };
  await reconcileIdentities({ store: planes.stores.east, ...options });
  await planes.rest();
  const configOf = async (side: 'global' | 'east', name: string): Promise<unknown> => {
    const { status, body } = await planes.ask(side, `/meshes/default/dataplanes/${name}/_config`);
    expect(status).toBe(200);
    return objectOf(body)['xds'];
  };
  const here = await configOf('east', 'cart-1.shop');
  expect(JSON.stringify(here)).toContain('kri_mid_default___identity_');
  expect(await configOf('global', mesh.storedOnGlobal('Dataplane', 'east', 'cart-1.shop'))).toEqual(here);
  const other = await configOf('global', mesh.storedOnGlobal('Dataplane', 'west', 'pay-1.shop'));
  expect(JSON.stringify(other)).not.toContain('DownstreamTlsContext');
});
