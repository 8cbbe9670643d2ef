import { describe, expect, it } from 'vitest';
import { fc } from '../../test/support/property.ts';
import type { ConfigProblem } from '../xds/config-problem.ts';
import { AcceptedTls } from './accepted-tls.ts';
import type { EncodedPart } from './encoded-part.ts';
import { ProxyView, type EncodedDestination, type EncodedOutbound } from './proxy-view.ts';
import { XDS_TYPES, type ChangedVersions, type XdsType } from './session-messages.ts';

/** A part with resources of these types, all of one name and version. */
function part(name: string, version: string, types: readonly XdsType[], problem = ''): EncodedPart {
  const problems: ConfigProblem[] = problem === '' ? [] : [{ policy: null, field: name, reason: problem }];
  return { resources: types.map((type) => ({ type, resource: { name, version, bytes: new Uint8Array() } })), problems };
}

let serial = 0;
const outbound = (name: string, version: string, isOwn = false, problem = ''): EncodedOutbound =>
  ({
    ...part(name, version, ['Listener', 'RouteConfiguration'], problem),
    ...{ placed: null, destinations: [], isOwn, serial: (serial += 1) },
  }) as unknown as EncodedOutbound;
const destination = (name: string, version: string, more: Partial<EncodedDestination> = {}): EncodedDestination =>
  ({
    ...part(name, version, ['Cluster', 'ClusterLoadAssignment']),
    ...{ outbound: null, isTls: false, servers: [], isOwn: false, serial: (serial += 1) },
    ...more,
  }) as unknown as EncodedDestination;

/** `type name` → version. */
function contents(view: ProxyView): Record<string, string> {
  return Object.fromEntries(
    XDS_TYPES.flatMap((type) =>
      [...view.names(type)].map((name): [string, string] => [`${type} ${name}`, view.get(type, name)?.version ?? 'missing']),
    ).sort(),
  );
}

function listening(view: ProxyView): ChangedVersions[] {
  const told: ChangedVersions[] = [];
  view.listen({ changed: (versions) => void told.push(versions), ended: () => undefined, failed: () => undefined });
  return told;
}

describe('the view of a proxy', () => {
  const name = fc.constantFrom('a', 'b', 'c');
  const version = fc.constantFrom('1', '2');
  const step = fc.oneof(
    fc.record({ set: fc.constant('own' as const), name, version: fc.option(version) }),
    fc.record({
      set: fc.constantFrom('outbound' as const, 'destination' as const),
      name,
      version: fc.option(version),
      isOwn: fc.boolean(),
    }),
    fc.record({ set: fc.constant('zone' as const), name, version: fc.option(version) }),
    fc.record({ set: fc.constant('publish' as const) }),
  );

  it('has the last parts, and reports the earlier version of each changed name', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        const view = new ProxyView();
        const told = listening(view);
        const held = new Map<string, EncodedPart>();
        let before = contents(view);
        const expected = (): Record<string, string> =>
          Object.fromEntries(
            [...held.values()]
              .flatMap(({ resources }) =>
                resources.map(({ type, resource }): [string, string] => [`${type} ${resource.name}`, resource.version]),
              )
              .sort(),
          );
        for (const one of steps) {
          if (one.set === 'publish') {
            told.length = 0;
            view.publish();
            const now = contents(view);
            const versions = new Map(
              [...(told[0] ?? [])].flatMap(([type, names]) =>
                [...names].map(([of, was]): [string, string] => [`${type} ${of}`, was]),
              ),
            );
            for (const [key, was] of versions) expect(was).toBe(before[key] ?? '');
            for (const key of Object.keys({ ...before, ...now }))
              if (before[key] !== now[key]) expect(versions.has(key)).toBe(true);
            before = now;
            continue;
          }
          const { version: given, name: of } = one;
          let made: EncodedPart | null;
          if (one.set === 'own') view.setOwn((made = part(`own-${of}`, given ?? '0', ['Listener', 'Cluster'])));
          else if (one.set === 'zone') {
            made = given === null ? null : part(`zone-${of}`, given, ['ClusterLoadAssignment', 'Cluster']);
            view.setZonePorts(of, new Map(made === null ? [] : [['port', made]]));
          } else if (one.set === 'outbound') {
            const set = given === null ? null : outbound(of, given, one.isOwn);
            view.setOutbound(of, set);
            made = set;
            expect(view.outbound(of)).toBe(set ?? undefined);
          } else {
            const set = given === null ? null : destination(of, given, { isOwn: one.isOwn });
            view.setDestination(of, set);
            made = set;
            expect(view.destination(of)).toBe(set ?? undefined);
          }
          const key = one.set === 'own' ? 'own' : `${one.set} ${of}`;
          if (made === null) held.delete(key);
          else held.set(key, made);
          expect(contents(view)).toEqual(expected());
        }
      }),
    );
  });

  it('lists its parts: those of the proxy itself apart, zone ports by their service', () => {
    const view = new ProxyView();
    view.setOutbound('a', outbound('a', '1', true));
    view.setOutbound('b', outbound('b', '1'));
    view.setDestination('c', destination('c', '1', { isOwn: true }));
    view.setDestination('d', destination('d', '1'));
    view.setOwn(part('own', '1', ['Listener', 'Cluster']));
    view.setZonePorts('service', new Map([['port', part('zone', '1', ['Cluster'])]]));
    view.setZonePorts('gone', new Map([['port', part('zone-2', '1', ['Cluster'])]]));
    view.setZonePorts('gone', new Map());
    expect([view.ownOutbounds(), view.ownDestinations(), view.ownNames('Listener')]).toEqual([['a'], ['c'], ['own']]);
    expect([...view.zoneServices()]).toEqual(['service']);
    expect([...view.outbounds()].map(([of]) => of).sort()).toEqual(['a', 'b']);
    expect([...view.clusters()].map(([of]) => of).sort()).toEqual(['c', 'd']);
    view.setOutbound('a', outbound('a', '1'));
    expect(view.ownOutbounds()).toEqual([]);
  });

  it('tells nothing without a change, and its problems once they may have changed', () => {
    const view = new ProxyView();
    const told = listening(view);
    view.publish();
    view.setOutbound('a', outbound('a', '1'));
    view.publish();
    view.publish();
    expect(told).toHaveLength(1);
    expect(view.takeProblems()).toBeNull();
    view.setOutbound('a', outbound('a', '1', false, 'bad'));
    view.publish();
    expect(told).toHaveLength(2);
    expect(view.takeProblems()?.map(({ reason }) => reason)).toEqual(['bad']);
    expect(view.takeProblems()).toBeNull();
    view.setProblems([{ policy: null, field: 'f', reason: 'declared twice' }]);
    view.setOwn(part('own', '1', ['Listener'], 'own'));
    view.setZonePorts('s', new Map([['p', part('z', '1', ['Listener'], 'zone')]]));
    expect(view.takeProblems()?.map(({ reason }) => reason)).toEqual(['declared twice', 'own', 'bad', 'zone']);
    view.setProblems([]);
    view.setOutbound('a', null);
    expect(view.takeProblems()?.map(({ reason }) => reason)).toEqual(['own', 'zone']);
    view.setProblems([]);
    expect(view.takeProblems()).toBeNull();
  });

  it('is in a state while nothing of it is unpublished', () => {
    const view = new ProxyView();
    view.setOutbound('a', outbound('a', '1'));
    expect(view.state).toBeNull();
    view.publish();
    view.takeProblems();
    const { state } = view;
    if (state === null) throw new Error('no state');
    expect(view.isIn(state)).toBe(true);
    view.setOwn(part('own', '1', ['Listener']));
    expect(view.isIn(state)).toBe(false);
    view.publish();
    view.takeProblems();
    expect(view.isIn(state)).toBe(true);
  });

  it('tells that it has ended or failed', () => {
    const view = new ProxyView();
    const said: unknown[] = [];
    view.end();
    view.fail('no listener');
    view.listen({ changed: () => undefined, ended: () => said.push('ended'), failed: (error) => said.push(error) });
    view.fail('a fault');
    view.end();
    expect(said).toEqual(['a fault', 'ended']);
  });
});

describe('the TLS that a proxy has accepted', () => {
  const leaf = { certPem: '', keyPem: '', spiffeId: '', authority: '', issuedAt: new Date(1), notAfter: new Date(2) };
  const view = (): ProxyView => {
    const made = new ProxyView();
    made.certified = { identity: 'id', leaf, secret: part('id', '1', ['Secret']) };
    made.trusted = 'bundle-1';
    made.setOwn(part('in', '1', ['Listener']));
    made.setDestination('tls', destination('tls', '1', { isTls: true, servers: ['s1', 's2'] }));
    made.setDestination('plain', destination('plain', '1', { servers: ['s3', 's2'] }));
    return made;
  };
  const accepted = (of: ProxyView): { held: Set<string>; tls: AcceptedTls } => {
    const held = new Set<string>();
    return { held, tls: new AcceptedTls(of, { holds: (type, name) => held.has(`${type} ${name}`) }) };
  };
  const FACTS = { identity: 'id', issuedAt: leaf.issuedAt, expiresAt: leaf.notAfter };

  it('counts step by step, and stays while a later version is on its way', () => {
    const { held, tls } = accepted(view());
    const nothing = { ...FACTS, isReady: false, bundle: '', plaintextTo: ['s1', 's2', 's3'], withdrawal: '' };
    expect(tls.facts()).toEqual(nothing);
    held.add('Secret id').add('Listener in');
    expect(tls.facts()).toEqual(nothing);
    held.add('Secret system_trust_bundle');
    expect(tls.facts()).toEqual({ ...nothing, isReady: true, bundle: 'bundle-1' });
    held.add('Cluster tls').add('Cluster plain');
    const all = { ...nothing, isReady: true, bundle: 'bundle-1', plaintextTo: ['s2', 's3'] };
    expect(tls.facts()).toEqual(all);
    held.clear();
    expect(tls.facts()).toEqual(all);
  });

  it.each(['Secret id', 'Secret system_trust_bundle', 'Listener in'])('is not that of a server without %s', (missing) => {
    const { held, tls } = accepted(view());
    for (const one of ['Secret id', 'Secret system_trust_bundle', 'Listener in']) if (one !== missing) held.add(one);
    expect(tls.facts()?.isReady).toBe(false);
  });

  it('says which withdrawal it has done: with its listeners and its clusters in plain text, until another is asked', () => {
    const of = view();
    const { held, tls } = accepted(of);
    const done = (): string | undefined => tls.facts()?.withdrawal;
    of.asked = 'first';
    held.add('Listener in');
    expect(done()).toBe('');
    held.add('Cluster plain');
    expect(done()).toBe('first');
    held.clear();
    expect(done()).toBe('first');
    of.asked = 'second';
    expect(done()).toBe('');
    held.add('Cluster plain');
    expect(done()).toBe('');
    held.add('Listener in');
    expect(done()).toBe('second');
    of.asked = '';
    expect(done()).toBe('');
  });

  it('tells its listener the step that the proxy must accept, also without another change', () => {
    const of = view();
    of.publish();
    let told = 0;
    of.listen({ changed: () => (told += 1), ended: () => undefined, failed: () => undefined });
    of.publish();
    of.asked = 'first';
    of.publish();
    of.asked = 'first';
    of.publish();
    expect(told).toBe(1);
  });

  it('is taken back with the certificate, the identity or the TLS of a cluster', () => {
    const of = view();
    const { held, tls } = accepted(of);
    for (const one of ['Secret id', 'Secret system_trust_bundle', 'Listener in', 'Cluster tls']) held.add(one);
    expect(tls.facts()).toMatchObject({ isReady: true, plaintextTo: ['s2', 's3'] });
    of.setDestination('tls', destination('tls', '2', { servers: ['s1'] }));
    expect(tls.facts()).toMatchObject({ plaintextTo: ['s1', 's2', 's3'] });
    const { certified } = of;
    of.certified = certified === null ? null : { ...certified, identity: 'other' };
    expect(tls.facts()).toMatchObject({ identity: 'other', isReady: false, bundle: 'bundle-1' });
    held.clear();
    of.certified = null;
    expect(tls.facts()).toBeNull();
    of.certified = certified;
    expect(tls.facts()).toMatchObject({ isReady: false, bundle: '' });
  });
});
