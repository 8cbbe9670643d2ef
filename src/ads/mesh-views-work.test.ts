// The work of a change in a large mesh: it grows with what has changed, and not with the document or the mesh around it.
import { describe, expect, it, vi } from 'vitest';
import { make, makeDataplane } from '../../test/policy/make-resource.ts';
import { readJson } from '../base/long-lists.ts';
import { MeshIndex } from '../policy/mesh-index.ts';
import { objectOf, objectsOf } from '../resource/read-json.ts';
import type { JsonObject, Resource } from '../resource/types.ts';
import type { ProxyConfig } from '../xds/proxy-context.ts';
import { WITHOUT_FEATURES } from '../xds/proxy-features.ts';
import { ResourceEncoder } from './encode-resources.ts';
import { MeshViews } from './mesh-views.ts';
import type { EncodedPart } from './encoded-part.ts';

/** Counts the routes and the endpoints that it has not been given before. */
class WatchedEncoder extends ResourceEncoder {
  readonly #seen = new Set<JsonObject>();
  made = 0;

  override part(config: ProxyConfig): EncodedPart {
    const hosts = [...config.routes.values()].flatMap(({ virtualHosts }) => objectsOf(virtualHosts));
    const groups = [...config.assignments.values()].flatMap(({ endpoints }) => objectsOf(endpoints));
    const items = [
      ...hosts.flatMap(({ routes }) => objectsOf(routes)),
      ...groups.flatMap(({ lbEndpoints }) => objectsOf(lbEndpoints)),
    ];
    // The route of all other requests is made with each part of a route.
    for (const item of items.filter(({ match }) => objectOf(match)['prefix'] !== '/')) {
      if (!this.#seen.has(item)) this.made += 1;
      this.#seen.add(item);
    }
    return super.part(config);
  }
}

/** As a store reads it. */
function stored(row: Resource): Resource {
  return { ...row, spec: readJson(JSON.stringify(row.spec)) as JsonObject };
}

function route(rules: number, changed: string): Resource {
  return stored(
    make('MeshHTTPRoute', 'long', {
      to: [
        {
          targetRef: { kind: 'MeshService', name: 'cart' },
          rules: Array.from({ length: rules }, (_, at) => ({
            matches: [{ path: { type: 'Exact', value: `/resource-${String(at)}` } }],
            default: {
              filters: [{ type: 'URLRewrite', urlRewrite: { hostname: at === 7 ? changed : 'same' } }],
              backendRefs: [{ kind: 'MeshService', name: 'cart', port: 80 }],
            },
          })),
        },
      ],
    }),
  );
}

const server = (name: string, address: string): Resource => makeDataplane(name, { labels: { app: 'cart' } }, { address });

function caller(name: string): Resource {
  const outbound = [{ port: 9000, backendRef: { kind: 'MeshService', name: 'cart', port: 80 } }];
  return makeDataplane(name, { labels: { app: 'caller' } }, { outbound });
}

function start(rows: readonly Resource[]) {
  const selector = { dataplaneLabels: { matchLabels: { app: 'cart' } } };
  const cart = make('MeshService', 'cart', {
    selector,
    ports: [{ name: 'http', port: 80, targetPort: 8080, appProtocol: 'http' }],
  });
  const index = new MeshIndex('default', [make('Mesh', 'default', {}), cart, caller('one'), caller('two'), ...rows]);
  const encoder = new WatchedEncoder();
  const views = new MeshViews(index, encoder, '');
  const open = (name: string): void => expect(views.open(name, WITHOUT_FEATURES)).toBeDefined();
  /** @returns items made, and steps */
  const change = (row: Resource): { made: number; steps: number } => {
    const before = encoder.made;
    views.before([index.get(row.type, row.name) ?? row], [row]);
    index.put(row);
    const steps = [...views.after([row])].length;
    return { made: encoder.made - before, steps };
  };
  return { views, encoder, open, change, service: cart };
}

it('a service that changes beside a route of 4,500 rules makes no route', () => {
  const { change, open, service } = start([route(4_500, 'one')]);
  ['one', 'two'].forEach(open);
  expect(change({ ...service, labels: { team: 'blue' } }).made).toBe(0);
});

describe('a change of one rule', () => {
  it.each([400, 4_500])('of %s makes one route', (rules) => {
    const { change, open } = start([route(rules, 'one')]);
    ['one', 'two'].forEach(open);
    expect(change(route(rules, 'two')).made).toBe(1);
  });
});

it('a new route of 4,500 rules is made in many steps, before the view is changed and before a proxy that joins has one', () => {
  const small = start([]);
  small.open('one');
  expect(small.change(route(4_500, 'one')).steps).toBeGreaterThan(50);
  const { views, encoder, open } = start([route(4_500, 'other')]);
  expect([...views.prepare('one', WITHOUT_FEATURES)].length).toBeGreaterThan(50);
  expect(encoder.made).toBe(4_500);
  open('one');
  expect(encoder.made).toBe(4_500);
  expect([...views.prepare('two', WITHOUT_FEATURES), ...views.prepare('missing', WITHOUT_FEATURES)]).toEqual([]);
});

it.each([40, 2_000])('a change of one of %s servers makes one endpoint', (servers) => {
  const rows = Array.from({ length: servers }, (_, at) =>
    server(`cart-${String(at)}`, `10.0.${String(at >> 8)}.${String(at & 255)}`),
  );
  const { change, open } = start(rows);
  ['one', 'two'].forEach(open);
  expect(change(server('cart-7', '10.1.0.7')).made).toBe(1);
});

it.each([2, 40])(
  'a service that comes is one listener and one cluster for %s redirected proxies, and no list of outbounds a proxy',
  (count) => {
    const serviceAt = (name: string, ip: string): Resource => ({
      ...make('MeshService', name, { ports: [{ port: 80, appProtocol: 'http' }] }, { zone: 'east' }),
      status: { vips: [{ ip }] },
    });
    const transparentProxying = { redirectPortInbound: 15_006, redirectPortOutbound: 15_001 };
    const proxies = Array.from({ length: count }, (_, at) =>
      makeDataplane(`p${String(at)}`, { zone: 'east' }, { transparentProxying }),
    );
    const index = new MeshIndex('default', [make('Mesh', 'default', {}), serviceAt('cart', '241.0.0.1'), ...proxies]);
    const encoder = new ResourceEncoder();
    const part = vi.spyOn(encoder, 'part');
    const views = new MeshViews(index, encoder, 'east');
    const opened = proxies.map(({ name }) => views.open(name, WITHOUT_FEATURES));
    const made = part.mock.calls.length;
    const late = serviceAt('late', '241.0.0.2');
    views.before([], [late]);
    index.put(late);
    const steps = [...views.after([late])].length;
    expect([part.mock.calls.length - made, steps]).toEqual([2, count]);
    for (const view of opened) expect(view?.get('Listener', '241.0.0.2:80')).toBeDefined();
    expect(new Set(opened.map((view) => view?.whatItCalls?.outbounds)).size).toBe(1);
  },
);
