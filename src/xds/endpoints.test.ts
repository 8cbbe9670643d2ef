// Which zones serve a client, and in which order.
import { describe, expect, it } from 'vitest';
import { makeDataplane } from '../../test/policy/make-resource.ts';
import type { Conf } from '../policies/confs.ts';
import { parseDataplane } from '../policy/dataplane-proxy.ts';
import { objectOf, objectsOf } from '../resource/read-json.ts';
import { Client } from './client.ts';
import { loadAssignment, localityWeights } from './endpoints.ts';

const client = new Client(parseDataplane(makeDataplane('caller', { zone: 'east', labels: { rack: 'r1', row: '7' } })));
const at = (address: string, labels: Record<string, string> = {}): { address: string; port: number; labels: typeof labels } => ({
  ...{ address, port: 80, labels },
});
const servers = {
  local: [at('10.0.0.1', { rack: 'r1', row: '7' }), at('10.0.0.2', { row: '7' }), at('10.0.0.3')],
  others: ['north', 'west'].map((zone) => ({ zone, endpoints: [at(`10.1.0.${String(zone.length)}`)] })),
};

type Locality = NonNullable<Conf<'MeshLoadBalancingStrategy'>['localityAwareness']>;

function localities(localityAwareness: Locality, isChoice = true): string[] {
  const { endpoints } = loadAssignment('cart', servers, client, { balancing: { localityAwareness }, isChoice });
  return objectsOf(endpoints).map(({ locality, priority = 0, loadBalancingWeight = '-' }) => {
    const { zone, subZone = '' } = objectOf(locality);
    return [zone, subZone, priority, loadBalancingWeight].join(' ').replace('  ', ' ');
  });
}

describe('other zones', () => {
  type Failover = NonNullable<NonNullable<Locality['crossZone']>['failover']>;
  const failover = (...rules: Failover): Locality => ({ crossZone: { failover: rules } });
  const inEast = { zones: ['west', 'east'] };
  const inWest = { zones: ['west'] };
  it.each<[what: string, locality: Locality, found: string[]]>([
    ['take over when the own zone fails', {}, ['east 0 -', 'north 1 -', 'west 1 -']],
    ['have their share where locality is off', { disabled: true }, ['east 0 -', 'north 0 -', 'west 0 -']],
    ['are left out where only the own zone is described', { localZone: {} }, ['east 0 -']],
    ['are left out where no rule names them', failover(), ['east 0 -']],
    [
      'take over in the order of the rules',
      failover({ to: { type: 'Only', zones: ['west'] } }, { to: { type: 'Any' } }),
      [...['east 0 -', 'north 2 -', 'west 1 -']],
    ],
    ['are all but some', failover({ to: { type: 'AnyExcept', zones: ['west'] } }), ['east 0 -', 'north 1 -']],
    ['end with None', failover({ to: { type: 'None' } }, { to: { type: 'Any' } }), ['east 0 -']],
    [
      'skip rules from elsewhere',
      failover({ from: inWest, to: { type: 'None' } }, { from: inEast, to: { type: 'Any' } }),
      [...['east 0 -', 'north 2 -', 'west 2 -']],
    ],
  ])('%s', (_, locality, found) => {
    expect(localities(locality)).toEqual(found);
  });

  it('are the only way to a service of one zone', () => {
    expect(localities({ localZone: {}, crossZone: { failover: [] } }, false)).toEqual(['east 0 -', 'north 1 -', 'west 1 -']);
  });
});

describe('servers whose applications are silent', () => {
  const silent = [at('10.0.0.9')];
  const endpointsOf = (given: Partial<Parameters<typeof loadAssignment>[1]>, localityAwareness: Locality = {}): unknown[] =>
    objectsOf(
      loadAssignment('cart', { local: [], silent, others: [], ...given }, client, {
        ...{ balancing: { localityAwareness }, isChoice: true },
      })['endpoints'],
    ).flatMap(({ lbEndpoints }) =>
      objectsOf(lbEndpoints).map(({ endpoint }) => objectOf(objectOf(objectOf(endpoint)['address'])['socketAddress'])['address']),
    );

  it.each<[what: string, found: unknown[], expected: string[]]>([
    ['have the requests that no other server can have', endpointsOf({}), ['10.0.0.9']],
    ['have none beside a ready one', endpointsOf({ local: [at('10.0.0.1')] }), ['10.0.0.1']],
    ['have none beside another zone', endpointsOf({ others: [{ zone: 'west', endpoints: [at('10.1.0.4')] }] }), ['10.1.0.4']],
    [
      'have them where no request may leave the zone',
      endpointsOf({ others: [{ zone: 'west', endpoints: [at('10.1.0.4')] }] }, { localZone: {} }),
      ['10.0.0.9'],
    ],
  ])('%s', (_, found, expected) => {
    expect(found).toEqual(expected);
  });
});

describe('affinity tags', () => {
  const tags = (...affinityTags: { key: string; weight?: number }[]): Locality => ({ localZone: { affinityTags } });
  it.each<[Locality, string[]]>([
    [tags({ key: 'rack' }), ['east rack=r1 0 9', 'east 0 1']],
    [tags({ key: 'rack' }, { key: 'row' }), ['east rack=r1 0 90', 'east row=7 0 9', 'east 0 1']],
    [tags({ key: 'rack' }, { key: 'none' }, { key: 'row' }), ['east rack=r1 0 900', 'east row=7 0 9', 'east 0 1']],
    [tags({ key: 'rack', weight: 5 }), ['east rack=r1 0 5', 'east 0 1']],
    [tags({ key: 'none' }), ['east 0 1']],
  ])('divide the own zone by weights: %j', (locality, found) => {
    expect(localities(locality)).toEqual(found);
    expect(localityWeights({ localityAwareness: locality })).toEqual({ localityWeightedLbConfig: {} });
  });

  it('have weights that Envoy can add up, for any number of tags', () => {
    const others = Array.from({ length: 11 }, (_, n) => ({ key: `none-${String(n)}` }));
    expect(localities(tags({ key: 'rack' }, ...others))).toContain('east rack=r1 0 90000000');
    expect(localities(tags({ key: 'rack' }, ...others.slice(0, 7)))).toContain('east rack=r1 0 90000000');
    expect(localities(tags({ key: 'rack' }, ...others.slice(0, 6)))).toContain('east rack=r1 0 9000000');
  });

  it('give the zones that take over a weight, because Envoy sends nothing to a locality without one', () => {
    const found = localities({ ...tags({ key: 'none' }), crossZone: { failover: [{ to: { type: 'Any' } }] } });
    expect(found).toEqual(['east 0 1', 'north 1 1', 'west 1 1']);
  });
});
