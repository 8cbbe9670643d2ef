// The way of a name as `inspect name` shows it: a whole one, and what is said of each broken part.
import { describe, expect, it } from 'vitest';
import { describeNameWay } from '../../src/cli/views/name-way-text.ts';
import { nameWay, type NameFacts } from '../../src/inspect/name-way.ts';
import { MeshIndex } from '../../src/policy/mesh-index.ts';
import type { JsonObject, Resource } from '../../src/resource/types.ts';
import { make } from '../policy/make-resource.ts';

const NAME = 'catalog.svc.mesh.local';
const facts: NameFacts = {
  ...{ zones: ['east'], asked: 'east', isOnline: () => true, unknown: () => '', unheard: () => '' },
  problems: [],
};

function dataplane(name: string, app: string, networking: JsonObject = {}): Resource {
  const inbound = [{ port: 8080, name: 'http', protocol: 'http' }];
  return make(
    'Dataplane',
    name,
    { networking: { address: '10.0.0.1', inbound, ...networking } },
    { zone: 'east', labels: { app } },
  );
}

function service(name: string, hostname: string, status: JsonObject = {}): Resource {
  const spec = {
    selector: { dataplaneLabels: { matchLabels: { app: name } } },
    ports: [{ port: 80, targetPort: 8080, name: 'http', appProtocol: 'http' }],
  };
  const addresses = hostname === '' ? [] : [{ hostname, origin: 'HostnameGenerator' }];
  const row = make('MeshService', name, spec, { zone: 'east' });
  return { ...row, status: { vips: [{ ip: '241.0.0.7' }], addresses, ...status } };
}

const redirected = { transparentProxying: { redirectPortInbound: 15_006, redirectPortOutbound: 15_001 } };
const reachingNothing = { transparentProxying: { ...redirected.transparentProxying, reachableBackends: { refs: [] } } };
const web = dataplane('web-1', 'web', redirected);
const catalog = service('catalog', NAME);
const server = dataplane('catalog-1', 'catalog');

type Change = {
  readonly puts?: readonly Resource[];
  readonly without?: readonly Resource[];
  readonly facts?: Partial<NameFacts>;
};

function wayTo(hostname: string, { puts = [], without = [], facts: others = {} }: Change = {}): string[] {
  const index = new MeshIndex('default', [make('Mesh', 'default', {}), web, catalog, server, ...puts]);
  for (const row of without) index.remove(row);
  const proxy = index.proxy(web.name);
  if (proxy === undefined) throw new Error('no proxy');
  return describeNameWay(nameWay(index, proxy, hostname, { ...facts, ...others })).split('\n');
}

describe('the way of a name', () => {
  it('is whole from the name to the servers', () => {
    expect(wayTo(NAME)).toMatchInlineSnapshot(`
      [
        "catalog.svc.mesh.local from web-1 in east: ok",
        "  PART       VALUE                               STATE   WHY",
        "  name       MeshService catalog                 ok      -",
        "  address    241.0.0.7                           ok      -",
        "  listener   241.0.0.7:80                        ok      -",
        "  route      no route → MeshService catalog:80   ok      -",
        "",
        "MeshService catalog:80, east, ok: web-1 → catalog-1",
        "  PART     ZONE   NAME        ADDRESS         STATE   WHY",
        "  caller   east   web-1       241.0.0.7:80    ok      -",
        "  server   east   catalog-1   10.0.0.1:8080   ok      -",
      ]
    `);
  });

  it('leads to the service that the proxy calls by it, where several have it', () => {
    const older = { ...service('other', NAME, { vips: [{ ip: '241.0.0.9' }] }), creationTime: new Date(0) };
    const shop = { ...older, type: 'MeshMultiZoneService', spec: { selector: { meshService: {} }, ports: [{ port: 80 }] } };
    const named = (...rows: Resource[]): string | undefined =>
      wayTo(NAME, { puts: [{ ...catalog, creationTime: new Date('2020-01-01') }, ...rows] }).find((line) =>
        line.startsWith('  name'),
      );
    expect(named(shop)).toContain('MeshMultiZoneService other');
    // It reaches no service without a place.
    expect(named({ ...shop, status: { ...shop.status, vips: [] } })).toContain('MeshService catalog');
  });

  it('shows the routes and where they lead', () => {
    const to = [
      {
        targetRef: { kind: 'MeshService', name: 'catalog' },
        rules: [
          {
            matches: [{ path: { type: 'PathPrefix', value: '/' } }],
            default: {
              backendRefs: [
                { kind: 'MeshService', name: 'catalog', port: 80, weight: 9 },
                { kind: 'MeshService', name: 'canary', port: 80, weight: 1 },
              ],
            },
          },
        ],
      },
    ];
    const canary = service('canary', '', { vips: [{ ip: '241.0.0.8' }] });
    const lines = wayTo(NAME, { puts: [make('MeshHTTPRoute', 'split', { to }), canary, dataplane('canary-1', 'canary')] });
    expect(lines.find((line) => line.includes('route'))).toContain('kri_mhttpr_default___split_');
    expect(lines.filter((line) => line.startsWith('MeshService'))).toHaveLength(2);
  });

  it.each<[string, string, Change, string]>([
    ['a name that nothing has', 'cart.svc.mesh.local', {}, 'no service of mesh default has this name in zone east'],
    ['a name of another domain', 'catalog.mz.example', {}, 'there is catalog.svc.mesh.local'],
    [
      'a name that another service has won',
      'catalog.lost.example',
      { puts: [service('other', '', lost('catalog.lost.example'))] },
      'does not give it to MeshService other: hostname catalog.lost.example belongs to catalog',
    ],
    ['a service without an address', NAME, { puts: [service('catalog', NAME, { vips: [] })] }, 'no free address'],
    ['a proxy that is not redirected', NAME, { puts: [dataplane('web-1', 'web')] }, 'networking.transparentProxying'],
    ['a service that it does not reach', NAME, { puts: [dataplane('web-1', 'web', reachingNothing)] }, 'reachableBackends'],
    [
      'a service at the address of an older one',
      NAME,
      { puts: [service('older', ''), { ...catalog, creationTime: new Date('2100-01-01') }] },
      'has 241.0.0.7:80 already',
    ],
    [
      'a listener that Envoy refuses',
      NAME,
      { facts: { problems: [{ kind: 'refused', at: 'kri_msvc_default_east__catalog_http', reason: 'no room', policies: [] }] } },
      'its Envoy refuses it: no room',
    ],
    ['a proxy that is away', NAME, { facts: { isOnline: () => false } }, 'its proxy is not connected'],
    ['a service without a server', NAME, { without: [server] }, 'its selector finds no Dataplane with inbounds'],
  ])('names the broken part: %s', (_, hostname, change, why) => {
    const lines = wayTo(hostname, change);
    expect(lines[0]).toMatch(/: broken$/);
    expect(lines.join('\n')).toContain(why);
  });

  it('is unknown on global, which has no addresses', () => {
    const copy = { ...catalog, status: { addresses: catalog.status['addresses'] ?? [] } };
    expect(wayTo(NAME, { puts: [copy], facts: { asked: null } })[0]).toMatch(/: unknown$/);
  });
});

function lost(hostname: string): JsonObject {
  const conditions = [
    { type: 'Generated', status: 'False', reason: 'Collision', message: `hostname ${hostname} belongs to catalog` },
  ];
  return { hostnameGenerators: [{ hostnameGeneratorRef: { coreName: 'local' }, conditions }] };
}
