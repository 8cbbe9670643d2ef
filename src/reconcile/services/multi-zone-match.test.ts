// What the status of a MeshMultiZoneService says of the services behind it.
import { expect, it } from 'vitest';
import { multiZoneStatus } from './multi-zone-match.ts';

it('counts a service without a zone label to the own zone, in the order of names and zones', () => {
  const services = [
    { name: 'web', mesh: 'default', labels: { 'kuma.io/zone': 'west' } },
    { name: 'web', mesh: 'default', labels: {} },
  ];
  expect(multiZoneStatus(services, 'east').meshServices).toMatchObject([
    { name: 'web', zone: 'east' },
    { name: 'web', zone: 'west' },
  ]);
});
