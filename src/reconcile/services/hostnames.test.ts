// The services that have a hostname, and their statuses.
import { beforeEach, describe, expect, it } from 'vitest';
import { makeRow } from '../../../test/support/make-row.ts';
import type { JsonObject, Labels, Resource } from '../../resource/types.ts';
import { HostnameClaims, HostnameGenerators, type Claim } from './hostnames.ts';

const claim = (generator: string, rank: number, hostname: string): Claim => ({ generator, rank, result: { hostname } });
const aged = (name: string, created = 0): { name: string; created: number } => ({ name, created });

describe('claims of hostnames', () => {
  let claims: HostnameClaims;

  beforeEach(() => {
    claims = new HostnameClaims();
  });

  const namesOf = (id: string): unknown[] => claims.statusOf(id).addresses.map((address) => (address as JsonObject)['hostname']);
  const put = (id: string, created: number, ...given: Claim[]): string[] => [...claims.put(id, aged(id, created), given)].sort();

  it('go to the generator of the best rank, then to the oldest service, then by name', () => {
    put('b', 1, claim('g', 1, 'x.local'));
    expect(namesOf('b')).toEqual(['x.local']);
    put('a', 1, claim('g', 1, 'x.local'));
    expect([namesOf('a'), namesOf('b')]).toEqual([['x.local'], []]);
    put('c', 0, claim('g', 1, 'x.local'));
    expect([namesOf('a'), namesOf('c')]).toEqual([[], ['x.local']]);
    put('d', 9, claim('f', 0, 'x.local'));
    expect([namesOf('c'), namesOf('d')]).toEqual([[], ['x.local']]);
  });

  it('touch the services that claim the same hostname, and no others', () => {
    expect(put('a', 0, claim('g', 0, 'x.local'))).toEqual(['a']);
    expect(put('b', 0, claim('g', 0, 'y.local'))).toEqual(['b']);
    expect(put('c', 0, claim('g', 0, 'x.local'))).toEqual(['a', 'c']);
    expect(put('c', 0, claim('g', 0, 'y.local'))).toEqual(['a', 'b', 'c']);
    expect([...claims.remove('a')]).toEqual(['a']);
    expect([...claims.remove('b')].sort()).toEqual(['b', 'c']);
    expect([...claims.remove('unknown')]).toEqual(['unknown']);
    expect([namesOf('a'), namesOf('c')]).toEqual([[], ['y.local']]);
  });

  it('have the rank of the first generator where two give a service one hostname', () => {
    put('a', 0, claim('second', 1, 'x.local'), claim('third', 2, 'x.local'));
    put('b', 9, claim('other', 1, 'x.local'));
    expect([namesOf('a'), namesOf('b')]).toEqual([['x.local', 'x.local'], []]);
  });

  it('say in the status of the service what each generator gave, by its name', () => {
    put('winner', 0, claim('g', 0, 'x.local'));
    put('a', 1, claim('z', 1, 'a.local'), claim('g', 0, 'x.local'), { generator: 'e', rank: 2, result: { error: 'no label' } });
    const condition = (status: string, reason: string, message: string): object => ({
      conditions: [{ type: 'Generated', status, reason, message }],
    });
    expect(claims.statusOf('a')).toEqual({
      addresses: [{ hostname: 'a.local', origin: 'HostnameGenerator', hostnameGeneratorRef: { coreName: 'z' } }],
      hostnameGenerators: [
        { hostnameGeneratorRef: { coreName: 'e' }, ...condition('False', 'TemplateError', 'no label') },
        { hostnameGeneratorRef: { coreName: 'g' }, ...condition('False', 'Collision', 'hostname x.local belongs to winner') },
        { hostnameGeneratorRef: { coreName: 'z' }, ...condition('True', 'Generated', '') },
      ],
    });
    expect(claims.statusOf('unknown')).toEqual({ addresses: [], hostnameGenerators: [] });
  });
});

describe('generators of hostnames', () => {
  const generator = (name: string, template: string, fields: Partial<Resource> = {}, matchLabels: JsonObject = {}): Resource =>
    makeRow('HostnameGenerator', name, { spec: { selector: { meshService: { matchLabels } }, template }, ...fields });
  const ofZone = { 'kuma.io/origin': 'zone' };

  function given(rows: readonly Resource[], labels: Labels = {}, type = 'MeshService'): string[] {
    const generators = new HostnameGenerators();
    for (const row of rows) generators.put(row);
    const service = makeRow(type, 'cart', { labels });
    return generators.claimsOf(service, 'east').map(({ generator: name, rank }) => `${String(rank)} ${name}`);
  }

  it('of the zone come before those of global, then the oldest, then by name', () => {
    const rows = [
      generator('b', 'b'),
      generator('a', 'a'),
      generator('old', 'c', { creationTime: new Date(-1) }),
      generator('mine', 'd', { labels: ofZone, creationTime: new Date(9) }),
    ];
    expect(given(rows)).toEqual(['0 mine', '1 old', '2 a', '3 b']);
    expect(given(rows.toReversed())).toEqual(['0 mine', '1 old', '2 a', '3 b']);
  });

  it('give a hostname to the services of their type that have all their labels', () => {
    const rows = [
      generator('all', 'a'),
      generator('team', 'b', {}, { team: 'a', tier: 'b' }),
      makeRow('HostnameGenerator', 'external', { spec: { selector: { meshExternalService: {} }, template: 'c' } }),
      makeRow('HostnameGenerator', 'none', { spec: { selector: {}, template: 'd' } }),
      generator('extension', ''),
    ];
    expect(given(rows)).toEqual(['0 all']);
    expect(given(rows, { team: 'a' })).toEqual(['0 all']);
    expect(given(rows, { team: 'a', tier: 'b' })).toEqual(['0 all', '2 team']);
    expect(given(rows, {}, 'MeshExternalService')).toEqual(['1 external']);
  });

  it('that go, or lose their template, give none any more', () => {
    const generators = new HostnameGenerators();
    for (const name of ['a', 'b']) generators.put(generator(name, name));
    const service = makeRow('MeshService', 'cart');
    const names = (): string[] => generators.claimsOf(service, 'east').map((one) => one.generator);
    generators.put(generator('a', ''));
    expect(names()).toEqual(['b']);
    generators.remove('b');
    expect(names()).toEqual([]);
  });
});
