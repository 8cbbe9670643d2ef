// What others learn of the TLS of a proxy, by what it has accepted of its view.
import { beforeEach, describe, expect, it } from 'vitest';
import { makeRow } from '../../test/support/make-row.ts';
import { dataplanePlaces } from '../xds/dataplane-places.ts';
import { TRUST_BUNDLE } from '../xds/proxy-tls.ts';
import { AcceptedTls } from './accepted-tls.ts';
import type { EncodedPart } from './encoded-part.ts';
import { ProxyView, type Certified, type EncodedDestination } from './proxy-view.ts';
import type { XdsType } from './session-messages.ts';

const [ISSUED, EXPIRES] = [new Date(1_000), new Date(2_000)];
const NO_BYTES = new Uint8Array();
const OWN: readonly (readonly [XdsType, string])[] = [
  ['Listener', 'in-1'],
  ['Listener', 'in-2'],
  ['RouteConfiguration', 'in-1'],
];
let view: ProxyView;
let held: Set<string>;
let accepted: AcceptedTls;

function part(resources: readonly (readonly [XdsType, string])[]): EncodedPart {
  return {
    resources: resources.map(([type, name]) => ({ type, resource: { name, version: '1', bytes: NO_BYTES } })),
    problems: [],
  };
}

function certifiedAs(identity: string): Certified {
  const leaf = { certPem: '', keyPem: '', spiffeId: '', authority: '', issuedAt: ISSUED, notAfter: EXPIRES };
  return { identity, leaf, secret: part([]) };
}

function calls(name: string, isTls: boolean, ...servers: string[]): void {
  const more = { outbound: null, isTls, servers, isOwn: false, serial: 1 };
  view.setDestination(name, { ...part([['Cluster', name]]), ...more } as unknown as EncodedDestination);
}

/** What it holds once it is ready as a server. */
const ALL = ['Secret id', `Secret ${TRUST_BUNDLE}`, ...OWN.map(([type, name]) => `${type} ${name}`)];

beforeEach(() => {
  view = new ProxyView();
  view.setOwn(part(OWN));
  view.certified = certifiedAs('id');
  view.trusted = 'bundle-1';
  held = new Set();
  accepted = new AcceptedTls(view, { holds: (type, name) => held.has(`${type} ${name}`) });
});

describe('what the row of a Dataplane should say about its inbounds', () => {
  const row = { networking: { address: '10.0.0.1', inbound: [{ port: 1 }] } };
  const wants = (isWanted: boolean, isSaid: boolean): void => void (view.demandsTls = { isWanted, isSaid });
  beforeEach(() => {
    view.places = dataplanePlaces({ resource: makeRow('Dataplane', 'a', { spec: row }) });
  });

  it.each(ALL)('is not that they demand TLS without %s', (missing) => {
    wants(true, false);
    held = new Set(ALL.filter((name) => name !== missing));
    expect(accepted.demanded()).toBeNull();
    held.add(missing);
    expect(accepted.demanded()).toBe(true);
  });

  it('is nothing where it says so already', () => {
    held = new Set(ALL);
    for (const said of [true, false]) {
      wants(said, said);
      expect(accepted.demanded()).toBeNull();
    }
  });

  it('is that they do not demand TLS once they are open, with a certificate and without', () => {
    for (const certified of [certifiedAs('id'), null]) {
      wants(false, true);
      view.certified = certified;
      held.clear();
      expect(accepted.demanded()).toBeNull();
      held = new Set(ALL);
      expect(accepted.demanded()).toBe(false);
    }
  });

  it('is nothing for a Dataplane without inbounds', () => {
    wants(true, false);
    view.places = dataplanePlaces({ resource: makeRow('Dataplane', 'a', { spec: { networking: { address: '10.0.0.1' } } }) });
    held = new Set(ALL);
    expect(accepted.demanded()).toBeNull();
  });
});

describe('the TLS that a proxy has accepted', () => {
  it('is nothing without a certificate, and begins again with the next one', () => {
    held = new Set(ALL);
    expect(accepted.facts()).toMatchObject({ isReady: true, bundle: 'bundle-1' });
    view.certified = null;
    expect(accepted.facts()).toBeNull();
    held.clear();
    view.certified = certifiedAs('id');
    expect(accepted.facts()).toEqual({
      ...{ identity: 'id', issuedAt: ISSUED, expiresAt: EXPIRES },
      ...{ isReady: false, bundle: '', plaintextTo: [], withdrawal: '' },
    });
  });

  it.each(ALL)('is not ready without %s', (missing) => {
    held = new Set(ALL.filter((name) => name !== missing));
    expect(accepted.facts()?.isReady).toBe(false);
    held.add(missing);
    expect(accepted.facts()?.isReady).toBe(true);
  });

  it('stays when a later version is on its way, but not for another identity', () => {
    held = new Set(ALL);
    accepted.facts();
    held.clear();
    view.trusted = 'bundle-2';
    expect(accepted.facts()).toMatchObject({ isReady: true, bundle: 'bundle-1' });
    view.certified = certifiedAs('other');
    expect(accepted.facts()).toMatchObject({ identity: 'other', isReady: false });
    held = new Set(ALL.map((name) => name.replace('Secret id', 'Secret other')));
    expect(accepted.facts()).toMatchObject({ isReady: true, bundle: 'bundle-2' });
  });

  it('names the services that the proxy calls in plain text, until it has their clusters with TLS', () => {
    calls('b', true, 'z', 'y');
    calls('a', false, 'x', 'y');
    expect(accepted.facts()?.plaintextTo).toEqual(['x', 'y', 'z']);
    held = new Set(['Cluster a', 'Cluster b']);
    expect(accepted.facts()?.plaintextTo).toEqual(['x', 'y']);
    held.clear();
    expect(accepted.facts()?.plaintextTo).toEqual(['x', 'y']);
    calls('b', false, 'z');
    expect(accepted.facts()?.plaintextTo).toEqual(['x', 'y', 'z']);
    calls('b', true, 'z');
    expect(accepted.facts()?.plaintextTo).toEqual(['x', 'y', 'z']);
  });
});
