import { describe, expect, it } from 'vitest';
import { make, makeDataplane } from '../../test/policy/make-resource.ts';
import type { Labels, Resource } from '../resource/types.ts';
import { layoutView } from './inspect-view.ts';
import { MeshIndex } from './mesh-index.ts';

const READY = { conditions: [{ type: 'Ready', status: 'True', reason: 'Ready' }] };

function identity(name: string, matchLabels: Labels, path = `/${name}`, labels: Labels = {}): Resource {
  const spec = { selector: { dataplane: { matchLabels } }, spiffeID: { trustDomain: 't.example', path } };
  const row = make('MeshIdentity', name, spec);
  return { ...row, labels: { ...row.labels, ...labels }, status: READY };
}

/** The SPIFFE ID that the layout of a proxy of zone east with the labels la and lb says. */
function idWith(...identities: Resource[]): unknown {
  const index = new MeshIndex('default', [makeDataplane('web-1', { zone: 'east', labels: { la: '1', lb: '2' } }), ...identities]);
  const [proxy] = [...index.proxies()];
  return proxy === undefined ? 'no proxy' : layoutView(index, proxy)['spiffeId'];
}

describe('the SPIFFE ID of a proxy', () => {
  it('is that of the MeshIdentity with the most labels', () => {
    expect(idWith(identity('a', { la: '1' }), identity('b', { la: '1', lb: '2' }), identity('c', {}))).toBe(
      'spiffe://t.example/b',
    );
  });

  it('is that of the first by name, where they have equally many', () => {
    expect(idWith(identity('b', { la: '1' }), identity('a', { lb: '2' }))).toBe('spiffe://t.example/a');
  });

  it('is left out where the chosen one asks for what the proxy does not have', () => {
    expect(idWith(identity('a', { la: '1' }, '/wl/{{ .Workload }}'), identity('b', {}))).toBeUndefined();
  });

  it('is left out where none selects it, none is ready, or it is of another zone', () => {
    expect(idWith()).toBeUndefined();
    expect(idWith(identity('a', { la: '2' }))).toBeUndefined();
    expect(idWith({ ...identity('a', {}), status: {} })).toBeUndefined();
    expect(idWith(identity('a', {}, '/a', { 'kuma.io/zone': 'west' }))).toBeUndefined();
    expect(idWith(identity('a', {}, '/a', { 'kuma.io/zone': 'east' }))).toBe('spiffe://t.example/a');
  });
});

describe('the protocol of an inbound', () => {
  it.each([
    [{ port: 1, protocol: 'http' }, 'http'],
    [{ port: 1, tags: { 'kuma.io/protocol': 'grpc' } }, 'grpc'],
    [{ port: 1, protocol: 'http', tags: { 'kuma.io/protocol': 'grpc' } }, 'http'],
    [{ port: 1 }, ''],
  ])('%j is %j', (inbound, protocol) => {
    const dataplane = make('Dataplane', 'd', { networking: { address: '10.0.0.1', inbound: [inbound] } });
    const index = new MeshIndex('default', [dataplane]);
    const [proxy] = [...index.proxies()];
    expect(proxy === undefined ? null : layoutView(index, proxy)['inbounds']).toMatchObject([{ protocol }]);
  });
});
