// Resources as bytes: what they keep in memory.
import { expect, it } from 'vitest';
import type { JsonObject } from '../resource/types.ts';
import { emptyConfig } from '../xds/proxy-context.ts';
import { ResourceEncoder } from './encode-resources.ts';

it('a resource keeps its own bytes in memory, and nothing beside them', () => {
  const clusters = new Map([['own', { name: 'own', connectTimeout: '1s' }]]);
  const { resources } = new ResourceEncoder().part({ ...emptyConfig(), clusters });
  expect(resources.map(({ resource: { bytes } }) => bytes.buffer.byteLength - bytes.length)).toEqual([0]);
});

it('a part lists the problems of its configuration, then the invalid messages', () => {
  const known = { policy: null, field: 'networking.outbound', reason: 'means no service' };
  const config = emptyConfig();
  config.clusters.set('good', { name: 'good' });
  config.clusters.set('bad', { name: 'bad', noField: 1 });
  config.routes.set('good', { name: 'good', noField: 1 });
  config.problems.push(known);
  const { resources, problems } = new ResourceEncoder().part(config);
  expect(resources.map(({ type, resource }) => `${type} ${resource.name}`)).toEqual(['Cluster good']);
  expect(problems.map(({ field }) => field)).toEqual(['networking.outbound', 'Cluster bad', 'RouteConfiguration good']);
  expect([problems[0], problems[1]?.reason]).toEqual([known, expect.stringContaining('noField')]);
});

it('equal resources of two parts are one object, and different ones have versions of their own', () => {
  const encoder = new ResourceEncoder();
  const made = (...timeouts: string[]) =>
    timeouts.map((connectTimeout) => {
      const [found] = encoder.part({ ...emptyConfig(), clusters: new Map([['a', { name: 'a', connectTimeout }]]) }).resources;
      return found?.resource;
    });
  const [one, same, other] = made('1s', '1s', '2s');
  expect(same).toBe(one);
  expect(other?.version).not.toBe(one?.version);
});

it('a resource has the same version on every control plane, so that a proxy that changes to another one is sent nothing again', () => {
  const clusters = new Map([['a', { name: 'a', connectTimeout: '1s' }]]);
  const { resources } = new ResourceEncoder().part({ ...emptyConfig(), clusters });
  expect(resources.map(({ resource: { version } }) => version)).toEqual(['KZ0QVquWBeXOKx247Nkek_']);
});

it('a listener has the name of its place, and one place has one listener', () => {
  const at = (address: string, portValue: number, more: JsonObject = {}): JsonObject => ({
    address: { socketAddress: { address, portValue, ...more } },
  });
  const listeners = new Map(
    Object.entries({
      ...{ first: at('10.0.0.1', 80), second: at('10.0.0.1', 80), third: at('10.0.0.1', 80, { protocol: 'UDP' }) },
      ...{ fourth: at('fd00::1', 80), fifth: { address: { pipe: { path: '/run/socket' } } } },
    }).map(([name, listener]) => [name, { name, ...listener }]),
  );
  const { resources, problems } = new ResourceEncoder().part({ ...emptyConfig(), listeners });
  expect(resources.map(({ resource: { name, knownAs } }) => [name, knownAs])).toEqual([
    ['10.0.0.1:80', 'first'],
    ['udp:10.0.0.1:80', 'third'],
    ['[fd00::1]:80', 'fourth'],
    ['fifth', undefined],
  ]);
  expect(problems).toEqual([
    { policy: null, field: 'Listener second', reason: 'has no listener: first listens on 10.0.0.1:80 already' },
  ]);
});
