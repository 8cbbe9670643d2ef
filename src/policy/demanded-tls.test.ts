// Which servers demand TLS, and to which of them clients use it, by the rows of their Dataplanes and the statuses of their services.
import { describe, expect, it } from 'vitest';
import { make } from '../../test/policy/make-resource.ts';
import { inForceSpec, type WithdrawalStep } from '../resource/identity-in-force.ts';
import { asReady } from '../resource/mesh-identity.ts';
import type { JsonObject, Resource } from '../resource/types.ts';
import type { DataplaneProxy } from './dataplane-proxy.ts';
import { MeshIndex } from './mesh-index.ts';
import { demandsTls, isCalled, mayDemandTls, takesTls, tlsToServers, withDemandedTls } from './demanded-tls.ts';

const ENFORCED = { status: 'Ready', enforced: true };
const NOT_READY = { status: 'NotReady' };
const ID = 'spiffe://default.east.mesh.local/workload/';

/** @param isIdentified a MeshIdentity selects it */
function server(name: string, { isIdentified = true, hasDemanded = true } = {}): Resource {
  const networking = { address: '10.0.0.1', inbound: [{ port: 80 }] };
  const labels = { app: 'cart', name, 'kuma.io/workload': name, identified: String(isIdentified) };
  return { ...make('Dataplane', name, { networking }, { zone: 'east', labels }), status: withDemandedTls({}, hasDemanded) };
}

function service(name: string, tls: JsonObject | null, matchLabels: JsonObject = { app: 'cart' }): Resource {
  const selector = { dataplaneLabels: { matchLabels } };
  return {
    ...make('MeshService', name, { selector, ports: [{ port: 80 }] }, { zone: 'east' }),
    status: tls === null ? {} : { tls },
  };
}

const identity = asReady(
  make('MeshIdentity', 'identity', { selector: { dataplane: { matchLabels: { identified: 'true' } } } }, { zone: 'east' }),
);

/** The identity is in a step of its withdrawal, which names a service. */
const withdrawal = (step: WithdrawalStep, name: string): Resource => ({
  ...make('Secret', 'identity-in-force', {}),
  labels: {},
  spec: inForceSpec({
    ...{ identity: { labels: identity.labels, spec: identity.spec }, step, since: '', until: '' },
    services: [`kri_msvc_default_east__${name}_`],
  }),
});

function meshOf(...rows: Resource[]): { index: MeshIndex; proxy: DataplaneProxy } {
  const index = new MeshIndex('default', [identity, ...rows]);
  const [proxy] = index.proxies();
  if (proxy === undefined) throw new Error('the mesh has no Dataplane');
  return { index, proxy };
}

const fresh = service('fresh', null);
const enforced = service('cart', ENFORCED);

describe('an inbound may demand TLS', () => {
  it.each<[may: boolean, what: string, rows: Resource[]]>([
    [true, 'when no client calls its services in plain text', [server('a', { hasDemanded: false }), enforced]],
    [false, 'not before that', [server('a', { hasDemanded: false }), enforced, service('other', { status: 'Ready' })]],
    [true, 'when it demanded it before, beside a new service', [server('a'), enforced, fresh]],
    [true, 'when it demanded it before, and a new service is the only one', [server('a'), fresh]],
    [true, 'when it demanded it before, in a service of servers that do not accept it', [server('a'), service('x', NOT_READY)]],
    [
      false,
      'not while servers of its service lose their identity',
      [server('a'), service('x', { status: 'Ready' }), withdrawal('open', 'x')],
    ],
    [true, 'while servers of another service lose their identity', [server('a'), fresh, withdrawal('open', 'x')]],
  ])('%s: %s', (may, _, rows) => {
    const { index, proxy } = meshOf(...rows);
    expect(mayDemandTls(index, proxy)).toBe(may);
  });

  it('by its row as it is now', () => {
    const { index, proxy } = meshOf(server('a', { hasDemanded: false }), fresh);
    expect(mayDemandTls(index, proxy)).toBe(false);
    index.put(server('a'));
    expect(mayDemandTls(index, proxy)).toBe(true);
  });
});

describe('a client uses TLS to a server', () => {
  it.each<[uses: boolean, what: string, of: Resource, rows: Resource[]]>([
    [
      true,
      'when all servers of the service accept it',
      service('cart', { status: 'Ready' }),
      [server('a', { hasDemanded: false })],
    ],
    [false, 'not before that', service('cart', NOT_READY), [server('a', { hasDemanded: false })]],
    [true, 'when the server demands it, in a new service', fresh, [server('a')]],
    [true, 'when the server demands it, and others do not accept it', service('cart', NOT_READY), [server('a')]],
    [true, 'without an identity too, in a service that is ready', enforced, [server('a', { isIdentified: false })]],
    [true, 'while its inbounds are opened', fresh, [server('a'), withdrawal('open', 'fresh')]],
    [false, 'not when clients change to plain text', fresh, [server('a'), withdrawal('clients', 'fresh')]],
  ])('%s: %s', (uses, _, of, rows) => {
    const { index, proxy } = meshOf(of, ...rows);
    expect(takesTls(index, of, proxy)).toBe(uses);
  });

  it('and it is said to demand it only with an identity', () => {
    const { index, proxy } = meshOf(server('a', { isIdentified: false }));
    expect(demandsTls(index, proxy)).toBe(false);
  });
});

describe('a client calls a server', () => {
  const named = identity.name;
  it.each<[calls: boolean, what: string, of: Resource, row: Resource]>([
    [true, 'with an identity, in a service that is ready', enforced, server('a')],
    [false, 'not without one', enforced, server('a', { isIdentified: false })],
    [true, 'without one in a service that is not ready', service('cart', NOT_READY), server('a', { isIdentified: false })],
  ])('%s: %s', (calls, _, of, row) => {
    const { index, proxy } = meshOf(of, row);
    expect(isCalled(index, of, proxy)).toBe(calls);
    // Without any identity in the mesh a status says nothing.
    index.remove({ type: 'MeshIdentity', mesh: 'default', name: named });
    expect(isCalled(index, of, proxy)).toBe(true);
  });
});

describe('the servers of services', () => {
  const plain = server('plain', { isIdentified: false });

  it.each<[servers: string, ids: string[], what: string, services: Resource[], proxies: Resource[]]>([
    ['all', ['a', 'b'], 'that demand it, of a new service', [fresh], [server('a'), server('b')]],
    ['all', ['a'], 'of which one has no identity', [service('cart', ENFORCED)], [server('a'), plain]],
    ['none', [], 'without an identity', [service('cart', NOT_READY)], [plain]],
    ['all', [], 'that are not there yet, of a service that was ready', [service('cart', ENFORCED)], []],
    ['none', [], 'that are not there yet, of another', [service('cart', NOT_READY)], []],
    ['all', [], 'of no service', [], []],
    [
      'some',
      ['a'],
      'of which one is of a service that does not accept it',
      [service('one', NOT_READY, { name: 'a' }), service('two', NOT_READY, { name: 'b' })],
      [server('a'), server('b', { hasDemanded: false })],
    ],
  ])('are called with TLS, %s, with the IDs of %s: those %s', (servers, ids, _, services, proxies) => {
    const index = new MeshIndex('default', [identity, ...services, ...proxies]);
    expect(tlsToServers(index, services)).toEqual({ servers, ids: ids.map((name) => ID + name) });
  });

  it('have the IDs that a service publishes too: others may be on their way', () => {
    const published = { ...fresh, spec: { ...fresh.spec, identities: [{ type: 'SpiffeID', value: `${ID}gone` }] } };
    const index = new MeshIndex('default', [identity, published, server('a')]);
    expect(tlsToServers(index, [published]).ids).toEqual([`${ID}a`, `${ID}gone`]);
  });
});
