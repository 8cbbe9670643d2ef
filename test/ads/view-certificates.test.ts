// The certificate of a proxy in its view: taken when it is there, replaced, and given back.
import { beforeEach, describe, expect, it } from 'vitest';
import { ResourceEncoder } from '../../src/ads/encode-resources.ts';
import { MeshViews } from '../../src/ads/mesh-views.ts';
import type { CertificateOrder } from '../../src/ads/proxy-certificates.ts';
import { ProxyView } from '../../src/ads/proxy-view.ts';
import type { ChangedVersions } from '../../src/ads/session-messages.ts';
import { runSteps } from '../../src/base/steps.ts';
import type { Leaf } from '../../src/identity/leaf.ts';
import { MeshIndex } from '../../src/policy/mesh-index.ts';
import { inForceSpec, type IdentityInForce } from '../../src/resource/identity-in-force.ts';
import type { Labels, Resource } from '../../src/resource/types.ts';
import { permitOf } from '../../src/token/proxy-authenticator.ts';
import { WITHOUT_FEATURES } from '../../src/xds/proxy-features.ts';
import { makeDataplane } from '../policy/make-resource.ts';
import { makeRow } from '../support/make-row.ts';
import { callerRows } from '../xds/arbitrary-mesh.ts';

const identities = callerRows.filter(({ type }) => type === 'MeshIdentity');
const rows = [
  ...callerRows.filter(({ type }) => type === 'MeshIdentity' || type === 'MeshTrust'),
  makeDataplane('web', { zone: 'east', labels: { app: 'web' } }),
];
const pemOf = (text: string): string => `-----BEGIN CERTIFICATE-----\n${text}\n-----END CERTIFICATE-----\n`;
const leafOf = (text: string): Leaf => ({
  ...{ certPem: pemOf(text), keyPem: 'key', spiffeId: '', authority: '', issuedAt: new Date(1), notAfter: new Date(2) },
});

let leaf: Leaf | null;
let calls: string[];
let index: MeshIndex;
let views: MeshViews;
let told: ChangedVersions[];

beforeEach(() => {
  leaf = null;
  calls = [];
  index = new MeshIndex('default', rows);
  views = new MeshViews(index, new ResourceEncoder(), 'east', {
    get: ({ name }, { identity }: CertificateOrder) => {
      calls.push(`get ${name} ${identity}`);
      return leaf;
    },
    release: ({ name }) => void calls.push(`release ${name}`),
  });
});

function open(): ProxyView {
  const view = views.open('web.east', WITHOUT_FEATURES) ?? new ProxyView();
  told = [];
  view.listen({ changed: (versions) => void told.push(versions), ended: () => undefined, failed: () => undefined });
  return view;
}

function change(puts: readonly Resource[], removes: readonly Resource[]): void {
  views.before(removes, puts);
  for (const row of removes) index.remove(row);
  for (const row of puts) index.put(row);
  runSteps(views.after(puts));
}

/** Types and names that the view told last, and how many times it told any. */
const changed = (): unknown => [
  told.length,
  Object.fromEntries([...(told.at(-1) ?? [])].map(([type, names]) => [type, [...names.keys()].sort()])),
];
/** The listener of the inbound of each proxy. */
const INBOUND = '10.0.0.1:8080';
const IDENTITY = identities.map((row) => new MeshIndex('default').kriOf(row))[0] ?? '';

describe('the token of a proxy', () => {
  const claims = { name: '', mesh: 'default', tags: {}, type: '', workload: '' };
  const web = (labels: Labels, status = {}): Resource => ({ ...makeDataplane('web', { zone: 'east', labels }), status });
  const put = (row: Resource): void => change([row], [row]);
  const withPath = (path: string): Resource[] => identities.map((row) => ({ ...row, spec: { ...row.spec, spiffeID: { path } } }));
  const idOf = (view: ProxyView): unknown => [
    view.certified?.leaf.certPem,
    view.problems.map(({ field, reason }) => [field, reason]),
  ];

  beforeEach(() => {
    const ids = new Map<string, string>();
    index = new MeshIndex('default', [...rows, ...withPath('/{{ label "app" }}')]);
    views = new MeshViews(index, new ResourceEncoder(), 'east', {
      get: ({ name }, { spiffeId }) => (calls.push(`get ${name} ${spiffeId}`), leafOf(ids.get(spiffeId) ?? spiffeId)),
      release: () => undefined,
    });
  });

  const openWith = (): ProxyView => {
    const view = views.open('web.east', WITHOUT_FEATURES, permitOf(claims)) ?? new ProxyView();
    view.listen({ changed: () => undefined, ended: () => undefined, failed: () => undefined });
    return view;
  };

  it('does not let a PUT give it a workload: it keeps its certificate, and a problem says why', () => {
    const view = openWith();
    const [before] = idOf(view) as [string];
    calls = [];
    put(web({ app: 'web', 'kuma.io/workload': 'cart' }));
    expect(idOf(view)).toEqual([
      before,
      [['token', expect.stringMatching(/names no workload, and the Dataplane is of workload "cart".*--workload cart.*keeps/)]],
    ]);
    expect(calls.some((call) => call.includes('cart'))).toBe(false);
    put(web({ app: 'web' }));
    expect(idOf(view)).toEqual([before, []]);
  });

  it('does not let a label that the proxy chose make its identity, whatever changes', () => {
    const chosen = { brought: { labels: { app: 'web', team: 'pay' }, roles: [] } };
    index.put(web({ app: 'web', team: 'pay' }));
    const view = openWith();
    const [before] = idOf(view) as [string];
    // The row is the proxy's now, as when it brings the Dataplane.
    put(web({ app: 'web', team: 'pay' }, chosen));
    change(withPath('/{{ label "team" }}'), identities);
    expect(idOf(view)).toEqual([before, [['token', expect.stringContaining('has no tag "team=pay"')]]]);
    expect(views.refusesIdentityOf('web.east', permitOf(claims))).toContain('--tag team=pay');
    expect(views.refusesIdentityOf('web.east', permitOf({ ...claims, tags: { team: ['pay'] } }))).toBeNull();
    change(withPath('/fixed'), identities);
    expect((idOf(view) as [string])[0]).toContain('/fixed');
  });

  it('lets an administrator choose the labels', () => {
    const view = openWith();
    put(web({ app: 'shop' }));
    expect(idOf(view)).toEqual([expect.stringContaining('/shop'), []]);
  });
});

describe('the certificate in the view of a proxy', () => {
  it('is ordered for its identity, and the proxy is in plain text until it is there', () => {
    expect(views.orderOf('web.east')).toMatchObject({ mesh: 'default', identity: identities[0]?.name });
    expect(views.orderOf('unknown')).toBeNull();
    const view = open();
    expect([view.certified, view.get('Secret', IDENTITY), calls.length > 0]).toEqual([null, undefined, true]);
    leaf = leafOf('one');
    views.renew('unknown');
    expect(told).toEqual([]);
    views.renew('web.east');
    expect(view.certified).toMatchObject({ identity: IDENTITY, leaf: { certPem: pemOf('one') } });
    expect(changed()).toEqual([
      1,
      expect.objectContaining({ Secret: expect.arrayContaining([IDENTITY]) as unknown, Listener: [INBOUND] }),
    ]);
  });

  it('is replaced by the next one, and nothing else changes', () => {
    leaf = leafOf('one');
    const view = open();
    const before = view.get('Secret', IDENTITY)?.version;
    views.renew('web.east');
    expect(told).toEqual([]);
    leaf = leafOf('two');
    views.renew('web.east');
    expect(changed()).toEqual([1, { Secret: [IDENTITY] }]);
    expect(view.get('Secret', IDENTITY)?.version).not.toBe(before);
    leaf = null;
    views.renew('web.east');
    expect(view.certified).toMatchObject({ leaf: { certPem: pemOf('two') } });
    expect(told).toHaveLength(1);
  });

  it('is not ordered for a proxy that leaves in the midst of a change', () => {
    index.put(makeDataplane('api', { zone: 'east', labels: { app: 'web' } }));
    views.open('api.east', WITHOUT_FEATURES);
    const view = open();
    calls = [];
    const [identity] = identities.map((row) => ({ ...row, spec: { ...row.spec, spiffeID: { path: '/other' } } }));
    const puts = identity === undefined ? [] : [identity];
    views.before(identities, puts);
    for (const row of puts) index.put(row);
    const steps = views.after(puts);
    steps.next();
    views.close('web.east', view);
    runSteps(steps);
    expect([new Set(calls), told]).toEqual([new Set([`get api.east ${identity?.name ?? ''}`]), []]);
  });

  it('is given back once when the identity goes, and is ordered when it comes again', () => {
    leaf = leafOf('one');
    const view = open();
    calls = [];
    change([], identities);
    expect([view.certified, view.get('Secret', IDENTITY), calls]).toEqual([null, undefined, ['release web.east']]);
    expect(views.orderOf('web.east')).toBeNull();
    views.renew('web.east');
    expect(calls).toEqual(['release web.east']);
    change(identities, []);
    expect(view.certified).toMatchObject({ identity: IDENTITY });
  });

  describe('of an identity in force', () => {
    const service = (status: Resource['status']): Resource => {
      const spec = { selector: { dataplaneLabels: { matchLabels: { app: 'web' } } }, ports: [] };
      return makeRow('MeshService', 'web', { labels: { 'kuma.io/display-name': 'web', 'kuma.io/zone': 'east' }, spec, status });
    };
    const { labels, spec, name } = identities[0] ?? makeRow('MeshIdentity', 'all');
    const services = ['kri_msvc_default_east__web_'];
    const inForce = (step: IdentityInForce['step']): Resource => {
      const data = inForceSpec({ identity: { labels, spec }, step, services, since: '', until: '' });
      return makeRow('Secret', `${name}-in-force`, { labels: {}, spec: data });
    };

    it('stays without its MeshIdentity, and is given back when the clients have changed', () => {
      leaf = leafOf('one');
      change([inForce('held')], []);
      const view = open();
      calls = [];
      const before = view.get('Listener', INBOUND)?.version;
      change([], identities);
      expect([view.certified?.identity, view.get('Listener', INBOUND)?.version]).toEqual([IDENTITY, before]);
      expect(views.orderOf('web.east')).toMatchObject({ identity: name, authority: '' });
      expect(calls).not.toContain('release web.east');
      change([inForce('trust')], [inForce('clients')]);
      expect([view.certified, calls.at(-1)]).toEqual([null, 'release web.east']);
    });

    it('is asked of the proxy once the services say so, and not while it has the certificate of another identity', () => {
      leaf = leafOf('one');
      change([inForce('open'), service({ tls: { status: 'Ready', enforced: true } })], []);
      const view = open();
      expect(view.asked).toBe('');
      change([service({ tls: { status: 'Ready' } })], []);
      const open1 = view.asked;
      expect([open1 === '', told.length > 0]).toEqual([false, true]);
      change([inForce('clients')], [inForce('open')]);
      expect(view.asked).toBe('');
      change([service({ tls: { status: 'NotReady' } })], []);
      expect([view.asked === '', view.asked === open1]).toEqual([false, false]);
      leaf = null;
      const other = identities.map((row) => ({ ...row, name: 'a', labels: { ...row.labels, 'kuma.io/display-name': 'a' } }));
      change(other, identities);
      expect([view.certified?.identity, view.asked]).toEqual([IDENTITY, '']);
      leaf = leafOf('two');
      views.renew('web.east');
      expect(view.asked).not.toBe('');
    });
  });
});
