import { describe, expect, it } from 'vitest';
import { fc } from '../../test/support/property.ts';
import { ProxyAuthenticator } from './proxy-authenticator.ts';
import { broughtStatus } from '../resource/brought-parts.ts';
import { identityMisfitOf, misfitOf } from './dataplane-misfit.ts';
import { permitOf } from './proxy-authenticator.ts';
import type { ProxyDataplane } from '../resource/proxy-permit.ts';
import type { DataplaneClaims } from './token-claims.ts';

const expiresAt = new Date('2027-01-01T00:00:00Z');
const ANY: DataplaneClaims = { name: '', mesh: 'shop', tags: {}, type: '', workload: '' };

function dataplane(more: Partial<ProxyDataplane> = {}, ...tags: Record<string, string>[]): ProxyDataplane {
  const inbound = tags.map((own, index) => ({ port: 80 + index, tags: own }));
  return { mesh: 'shop', name: 'cart-1', labels: {}, spec: { networking: { address: '10.0.0.1', inbound } }, ...more };
}

const cart = { labels: { 'kuma.io/workload': 'cart' } };

const listeners = (...types: string[]) => ({ networking: { listeners: types.map((type, at) => ({ type, port: at + 1 })) } });
/** A Dataplane of a file, and the same as an administrator wrote it. */
const brought = (given: ProxyDataplane): ProxyDataplane => ({ ...given, status: broughtStatus(given, null) });
const egress = dataplane({ spec: listeners('ZoneEgress') });
const ingress = dataplane({ spec: { networking: { zoneIngress: { port: 1 } } } });
const both = dataplane({
  spec: listeners('ZoneEgress', 'ZoneIngress'),
  labels: { 'kuma.io/listener-zoneegress': 'enabled', 'kuma.io/listener-zoneingress': 'enabled' },
});

describe('the role of a zone proxy', () => {
  it.each<[string, Partial<DataplaneClaims>, ProxyDataplane]>([
    ['written by an administrator', {}, egress],
    ['written by an administrator, for an ingress', { name: 'cart-1' }, ingress],
    ['in the type of the token', { type: 'egress' }, brought(egress)],
    ['in the type of the token, for an ingress', { type: 'ingress' }, brought(ingress)],
    [
      'in the tags of the token, as kumactl writes them',
      { tags: { 'kuma.io/listener-zoneegress': ['enabled'], 'kuma.io/listener-zoneingress': ['enabled'] } },
      brought(both),
    ],
  ])('is permitted: %s', (_, claims, given) => {
    expect(misfitOf({ ...ANY, ...claims }, given)).toBeNull();
  });

  it.each<[string, Partial<DataplaneClaims>, ProxyDataplane, string]>([
    ['a token for a name', { name: 'cart-1' }, brought(egress), 'egress'],
    ['a token of type dataplane', { type: 'dataplane' }, brought(ingress), 'ingress'],
    ['a token for one of two roles', { type: 'egress' }, brought(both), 'ingress'],
  ])('is refused of a Dataplane that the proxy brings: %s', (_, claims, given, role) => {
    expect(misfitOf({ ...ANY, ...claims }, given)).toBe(
      `is not for a zone ${role}, and the proxy brings a Dataplane with the listener of one`,
    );
  });

  it('is refused with the command for a token that has it', () => {
    expect(permitOf({ ...ANY, name: 'cart-1' }).refusesDataplane(brought(egress))).toContain(
      'Get one with: meridian generate dataplane-token --mesh shop --name cart-1 --type egress --valid-for 720h',
    );
  });

  it('of the token must be one of the Dataplane', () => {
    expect(misfitOf({ ...ANY, type: 'ingress' }, egress)).toBe('is for a proxy of type "ingress"');
  });
});

describe('a label that decides the SPIFFE ID', () => {
  const labels = { team: 'a', 'k8s.kuma.io/namespace': 'ns', 'kuma.io/workload': 'cart' };
  const given = dataplane({ labels });
  const keys = ['team', 'k8s.kuma.io/namespace', 'kuma.io/workload', 'absent'];

  it.each<[string, Partial<DataplaneClaims>, ProxyDataplane]>([
    ['written by an administrator', {}, given],
    ['in the tags of the token', { name: 'cart-1', tags: { team: ['b', 'a'] } }, brought(given)],
  ])('is permitted: %s', (_, claims, one) => {
    expect(identityMisfitOf({ ...ANY, ...claims }, one, keys)).toBeNull();
  });

  it('is refused of a Dataplane that the proxy brings, with the command for a token that has it', () => {
    const reason = permitOf({ ...ANY, workload: 'cart' }).refusesIdentity(brought(given), keys) ?? '';
    expect(reason).toContain('has no tag "team=a", "k8s.kuma.io/namespace=ns": this label decides the SPIFFE ID');
    expect(reason).toContain('--workload cart --tag team=a --tag k8s.kuma.io/namespace=ns --valid-for 720h');
    expect(permitOf(ANY).refusesIdentity(brought(given), ['absent'])).toBeNull();
  });
});

describe('a good token', () => {
  it.each<[string, Partial<DataplaneClaims>, ProxyDataplane]>([
    ['of the mesh alone', {}, dataplane()],
    ['of the name', { name: 'cart-1' }, dataplane()],
    ['of the type', { type: 'dataplane' }, dataplane()],
    ['of the workload', { workload: 'cart' }, dataplane(cart)],
    ['of a tag', { tags: { team: ['a', 'b'] } }, dataplane({}, { team: 'a' }, { team: 'b' }, { other: 'c' })],
    [
      'of a tag of a gateway',
      { tags: { team: ['a'] } },
      dataplane({ spec: { networking: { gateway: { tags: { team: 'a' } } } } }),
    ],
  ])('%s lets the Dataplane in', (_, claims, given) => {
    expect(misfitOf({ ...ANY, ...claims }, given)).toBeNull();
  });

  it.each<[string, Partial<DataplaneClaims>, ProxyDataplane]>([
    ['is for mesh "other"', { mesh: 'other' }, dataplane()],
    ['is for Dataplane "cart-2"', { name: 'cart-2' }, dataplane()],
    ['is for a proxy of type "ingress"', { type: 'ingress' }, dataplane()],
    ['is for workload "cart", and the Dataplane has no label kuma.io/workload', { workload: 'cart' }, dataplane()],
    ['is for workload "shop", and the Dataplane is of workload "cart"', { workload: 'shop' }, dataplane(cart)],
    ['names no workload, and the Dataplane is of workload "cart"', {}, dataplane(cart)],
    [
      'asks for tag "team", and no inbound and no label of the Dataplane has it',
      { tags: { team: ['a'] } },
      dataplane({}, { app: 'a' }),
    ],
    [
      'allows tag "team" the values "a", "b", and the Dataplane has "c"',
      { tags: { team: ['a', 'b'] } },
      dataplane({}, { team: 'a' }, { team: 'c' }),
    ],
  ])('%s', (reason, claims, given) => {
    expect(misfitOf({ ...ANY, ...claims }, given)).toBe(reason);
  });

  it('fits as long as each value of its tags is allowed, for any tags', () => {
    const keys = fc.constantFrom('a', 'b', 'c');
    const values: fc.Arbitrary<string> = fc.constantFrom('1', '2', '3');
    const tags = fc.array(fc.dictionary(keys, values), { maxLength: 4 });
    const allowed = fc.dictionary(keys, fc.uniqueArray(values, { minLength: 1 }));
    fc.assert(
      fc.property(tags, allowed, (given, claims) => {
        const fits = Object.entries(claims).every(([key, may]) => {
          const own = given.flatMap((one) => (key in one ? [one[key] ?? ''] : []));
          return own.length > 0 && own.every((value) => may.includes(value));
        });
        expect(misfitOf({ ...ANY, tags: claims }, dataplane({}, ...given)) === null).toBe(fits);
      }),
    );
  });
});

describe('a proxy', () => {
  const verifier = {
    dataplane: async (token: string, mesh: string) =>
      token === 'good'
        ? ({ ok: true, claims: { ...ANY, mesh, workload: 'cart' }, id: 'i', expiresAt } as const)
        : ({ ok: false, reason: 'was revoked' } as const),
  };
  const authenticate = async (values: readonly string[], given = dataplane(cart), type: 'dpToken' | 'none' = 'dpToken') =>
    await new ProxyAuthenticator(verifier, type).authenticate(values, given);
  const how = 'Get one with: meridian generate dataplane-token --mesh shop --name cart-1 --workload cart --valid-for 720h';

  it.each([['good'], ['Bearer good'], [' good ']])('gets in with %j', async (value) => {
    const token = { mesh: 'shop', name: 'cart-1', workload: 'cart', text: 'good', expiresAt };
    expect(await authenticate([value])).toMatchObject({ ok: true, token });
  });

  it.each([
    [[], `the proxy of Dataplane "cart-1" of mesh "shop" sent no token. ${how}`],
    [[''], `the proxy of Dataplane "cart-1" of mesh "shop" sent no token. ${how}`],
    [['good', 'good'], 'the proxy of Dataplane "cart-1" of mesh "shop" sent more than one authorization'],
    [['bad'], `the token of Dataplane "cart-1" of mesh "shop" was revoked. ${how}`],
  ])('is not known by %j', async (values, reason) => {
    expect(await authenticate(values)).toEqual({ ok: false, code: 'unauthenticated', reason });
  });

  it('is refused with a good token of another', async () => {
    const reason =
      'the token of Dataplane "cart-1" of mesh "shop" is for workload "cart", and the Dataplane has no label kuma.io/workload. ' +
      'Get one with: meridian generate dataplane-token --mesh shop --name cart-1 --valid-for 720h';
    expect(await authenticate(['good'], dataplane())).toEqual({ ok: false, code: 'forbidden', reason });
  });

  it('puts no name in a command that is no name of a resource', async () => {
    const outcome = await authenticate([], dataplane({ name: 'x; rm -rf ~' }));
    expect(outcome).toMatchObject({ reason: expect.stringMatching(/Get one with meridian generate dataplane-token$/) as string });
  });

  it('needs no token where none is asked for', async () => {
    expect(await authenticate([], dataplane(), 'none')).toMatchObject({ ok: true, token: null });
  });
});
