import { describe, expect, it } from 'vitest';
import { make, type Made } from '../../test/policy/make-resource.ts';
import type { DataplaneProxy } from '../policy/dataplane-proxy.ts';
import { MeshIndex } from '../policy/mesh-index.ts';
import type { JsonObject, Resource } from '../resource/types.ts';
import { BackendResolver } from './backends.ts';
import { changedPorts, listedOutbounds, type ListedOutbounds } from './listed-outbounds.ts';
import { placeName } from './listener-place.ts';

const CART = 'kri_msvc_default_east__cart_80';
const ADMIN = 'kri_msvc_default_east__cart_admin';
const MAIL = 'kri_extsvc_default_east__mail_25';
const CART_REF = { kind: 'MeshService', name: 'cart', port: 80 };
const REDIRECTED = { transparentProxying: { redirectPortInbound: 15_006, redirectPortOutbound: 15_001 } };

const cart = (more: { spec?: JsonObject; ip?: string } = {}): Resource => ({
  ...make('MeshService', 'cart', more.spec ?? { ports: [{ port: 80 }, { port: 81, name: 'admin' }] }, { zone: 'east' }),
  status: { vips: [{ ip: more.ip ?? '241.0.0.1' }] },
});
const mail: Resource = {
  ...make('MeshExternalService', 'mail', { match: { port: 25 } }, { zone: 'east' }),
  status: { vip: { ip: '242.0.0.1' } },
};

function dataplane(networking: JsonObject, made: Made = {}, name = 'web'): Resource {
  const spec = { networking: { address: '10.0.0.9', inbound: [{ port: 8080, name: 'http' }], ...networking } };
  return make('Dataplane', name, spec, { zone: 'east', ...made });
}

function indexOf(...rows: Resource[]): MeshIndex {
  return new MeshIndex('default', rows);
}

function listIn(index: MeshIndex, proxy: DataplaneProxy | undefined): ListedOutbounds {
  if (proxy === undefined) throw new Error('the mesh has no Dataplane');
  return listedOutbounds(index, proxy, new BackendResolver(index, 'east'));
}

/** The list of a Dataplane among these services. */
function listed(given: Resource, ...rows: Resource[]): ListedOutbounds {
  const index = indexOf(given, ...rows);
  return listIn(index, index.proxy(given.name));
}

/** The places of each outbound; those where Envoy does not listen itself have a star. */
function placesIn({ byKri }: ListedOutbounds): Record<string, string[]> {
  const text = ({ address, port, isBound }: { address: string; port: number; isBound: boolean }): string =>
    `${placeName(address, port)}${isBound ? '' : '*'}`;
  return Object.fromEntries([...byKri].map(([kri, { places }]) => [kri, places.map(text)]));
}

const reasonsIn = ({ problems }: ListedOutbounds): string[] => problems.map(({ field, reason }) => `${field}: ${reason}`);

describe('the declared outbounds', () => {
  it('have an address, that of the machine if none is given, and the problems of references that mean nothing', () => {
    const outbound = [
      { port: 1, backendRef: { ...CART_REF, name: 'none' } },
      { port: 2, backendRef: CART_REF },
      { port: 3, address: '10.9.9.9', backendRef: { ...CART_REF, port: 81 } },
    ];
    const list = listed(dataplane({ outbound }), cart());
    expect(placesIn(list)).toEqual({ [CART]: ['127.0.0.1:2'], [ADMIN]: ['10.9.9.9:3'] });
    expect(reasonsIn(list)).toEqual(['networking.outbound[0].backendRef: MeshService none does not exist: it has no listener']);
  });

  it('keep their places beside the virtual ones; those that Envoy cannot bind have redirected connections', () => {
    const outbound = [
      { port: 2, backendRef: CART_REF },
      { port: 3, address: '10.9.9.9', backendRef: { ...CART_REF, port: 81 } },
    ];
    expect(placesIn(listed(dataplane({ ...REDIRECTED, outbound }), cart(), mail))).toEqual({
      [CART]: ['127.0.0.1:2', '241.0.0.1:80*'],
      [ADMIN]: ['10.9.9.9:3*', '241.0.0.1:81*'],
      [MAIL]: ['242.0.0.1:25*'],
    });
  });

  it('have one place where they are declared at the virtual one, and keep it before another service', () => {
    const at = { address: '241.0.0.1', port: 80 };
    const same = listed(dataplane({ ...REDIRECTED, outbound: [{ ...at, backendRef: CART_REF }] }), cart());
    expect([placesIn(same)[CART], reasonsIn(same)]).toEqual([['241.0.0.1:80*'], []]);
    const backendRef = { kind: 'MeshExternalService', name: 'mail' };
    const other = listed(dataplane({ ...REDIRECTED, outbound: [{ ...at, backendRef }] }), cart(), mail);
    expect(placesIn(other)).toEqual({ [MAIL]: ['241.0.0.1:80*', '242.0.0.1:25*'], [ADMIN]: ['241.0.0.1:81*'] });
    expect(reasonsIn(other)).toEqual([
      `networking.transparentProxying: ${CART} has no listener at its virtual address: the declared outbound to ${MAIL} uses 241.0.0.1:80`,
    ]);
  });
});

describe('the outbounds of redirected proxies', () => {
  it('are none where only the connections to the machine are redirected', () => {
    expect(placesIn(listed(dataplane({ transparentProxying: { redirectPortInbound: 15_006 } }), cart()))).toEqual({});
  });

  it('leave out a place where the proxy listens itself, and say so', () => {
    const inbound = [{ port: 80, address: '241.0.0.1' }];
    const list = listed(dataplane({ ...REDIRECTED, inbound }), cart());
    expect(placesIn(list)).toEqual({ [ADMIN]: ['241.0.0.1:81*'] });
    expect(reasonsIn(list)).toEqual([
      `networking.transparentProxying: ${CART} has no listener at its virtual address: networking.inbound[0] uses 241.0.0.1:80`,
    ]);
  });

  it('are one object for proxies that reach and declare the same, until a service changes', () => {
    const outbound = [{ port: 2, backendRef: CART_REF }];
    const rows = ['a', 'b'].flatMap((name) => [
      dataplane(REDIRECTED, {}, name),
      dataplane({ ...REDIRECTED, outbound }, {}, `${name}-declares`),
    ]);
    const index = indexOf(...rows, cart());
    const of = (name: string): ListedOutbounds => listIn(index, index.proxy(name));
    const [first, declaring] = [of('a.east'), of('a-declares.east')];
    expect([of('b.east') === first, of('b-declares.east') === declaring, first === declaring]).toEqual([true, true, false]);
    index.put(mail);
    expect(of('a.east')).not.toBe(first);
    expect(of('a.east')).toBe(of('b.east'));
  });
});

it('the ports that differ between two lists are those that come, go, change or move', () => {
  const listOf = (...rows: Resource[]): ListedOutbounds => listed(dataplane(REDIRECTED), ...rows);
  const same = cart();
  const before = listOf(same, mail);
  expect(changedPorts(before, before)).toEqual([]);
  expect(changedPorts(before, listOf(same, mail))).toEqual([]);
  expect(changedPorts(before, listOf(same))).toEqual([MAIL]);
  expect(changedPorts(listOf(same), before)).toEqual([MAIL]);
  expect(changedPorts(before, listOf(cart({ ip: '241.0.0.2' }), mail))).toEqual([ADMIN, CART].sort());
});
