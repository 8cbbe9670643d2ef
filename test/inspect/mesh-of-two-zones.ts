// A mesh over two zones, `east` and `west`, with services, policies and a route of every role, written over REST and at rest.
import { afterAll, beforeAll, expect } from 'vitest';
import { displayNameOf } from '../../src/resource/labels.ts';
import type { Resource } from '../../src/resource/types.ts';
import { typeOf } from '../../src/resource/type-registry.ts';
import { ControlPlanes, zones, type Side, type Zone } from '../golden/control-planes.ts';

type Body = { readonly type: string; readonly name: string; readonly labels?: Record<string, string> } & Record<string, unknown>;

const ORIGIN = { 'kuma.io/origin': 'zone' };
const SHOP = { ...ORIGIN, 'k8s.kuma.io/namespace': 'shop' };
const WEB = { ...ORIGIN, 'k8s.kuma.io/namespace': 'web' };
const EXTERNAL = {
  match: { type: 'HostnameGenerator', port: 443, protocol: 'tcp' },
  endpoints: [{ address: 'card.example', port: 443 }],
};

/** The mesh for the tests of a file; it is written before them. */
export function meshOfTwoZones(): MeshOfTwoZones {
  const mesh = new MeshOfTwoZones();
  beforeAll(async () => mesh.start());
  afterAll(async () => mesh.planes.close());
  return mesh;
}

class MeshOfTwoZones {
  readonly planes = new ControlPlanes({ resume: true });

  async start(): Promise<void> {
    await this.planes.start();
    await this.apply('global', { type: 'Mesh', name: 'default' });
    await this.planes.rest();
    await this.apply('east', service('cart', SHOP), dataplane('cart-1', SHOP, 'cart'), dataplane('web-1', WEB, 'web'));
    await this.apply('west', service('pay', SHOP), dataplane('pay-1', SHOP, 'pay'), dataplane('web-1', WEB, 'web'));
    await this.apply('global', timeout('everywhere', { kind: 'Mesh' }, { http: { requestTimeout: '15s' } }), multiZone('both'));
    await this.apply('global', timeout('at-home', { kind: 'Mesh' }, { idleTimeout: '1s' }, { 'kuma.io/kds-sync': 'disabled' }));
    await this.apply('west', { type: 'MeshExternalService', name: 'card', labels: ORIGIN, spec: EXTERNAL });
    await this.apply('global', timeout('nowhere', { kind: 'MeshService', name: 'gone' }, { idleTimeout: '1h' }));
    await this.apply(
      'east',
      route('slow', 'cart', SHOP),
      timeout('producer', { kind: 'MeshHTTPRoute', name: 'slow' }, { http: { requestTimeout: '30s' } }, SHOP),
      timeout(
        'consumer',
        { kind: 'MeshHTTPRoute', labels: { 'kuma.io/display-name': 'slow' } },
        { http: { streamIdleTimeout: '9s' } },
        WEB,
      ),
      { type: 'MeshTimeout', name: 'inbound', labels: ORIGIN, spec: { rules: [{ default: { idleTimeout: '7s' } }] } },
    );
    await this.planes.rest();
    expect(this.planes.refusals).toEqual([]);
  }

  async apply(side: Side, ...bodies: Body[]): Promise<void> {
    for (const body of bodies) {
      const { path, scope } = typeOf(body.type);
      const [url, mesh] =
        scope === 'Mesh' ? [`/meshes/default/${path}/${body.name}`, { mesh: 'default' }] : [`/${path}/${body.name}`, {}];
      const { status, text } = await this.planes.call(side, 'PUT', url, { ...mesh, ...body });
      expect(status, text).toBeLessThan(300);
    }
  }

  /** The name of a zone's resource in the store of global. */
  storedOnGlobal(type: string, zone: Zone, name: string): string {
    const own = this.planes.stores[zone].rows.get(this.idOf(type, name));
    const isCopy = (row: Resource): boolean =>
      row.type === type &&
      row.labels['kuma.io/zone'] === zone &&
      own !== undefined &&
      displayNameOf(row) === displayNameOf(own) &&
      row.labels['k8s.kuma.io/namespace'] === own.labels['k8s.kuma.io/namespace'];
    return [...this.planes.stores.global.rows.values()].find(isCopy)?.name ?? '';
  }

  /** The key of a row with that type and name in `rows`, in any mesh. */
  idOf(type: string, name: string): string {
    const { stores } = this.planes;
    return (
      [...stores.global.rows.keys(), ...stores.east.rows.keys(), ...stores.west.rows.keys()].find(
        (id) => id.includes(JSON.stringify(type)) && id.includes(JSON.stringify(name)),
      ) ?? ''
    );
  }

  /** Every hashed name of any store. */
  wireNames(): string[] {
    const rows = (['global', ...zones] as const).flatMap((side) => [...this.planes.stores[side].rows.values()]);
    return rows
      .filter(({ syncVersion }) => syncVersion !== null)
      .flatMap((row) => (row.name === displayNameOf(row) ? [] : [row.name]));
  }
}

function service(name: string, labels: Record<string, string>): Body {
  const selector = { dataplaneLabels: { matchLabels: { app: name } } };
  return {
    type: 'MeshService',
    name,
    labels: { ...labels, tier: 'x' },
    spec: { selector, ports: [{ port: 80, appProtocol: 'http' }] },
  };
}

function multiZone(name: string): Body {
  const spec = { selector: { meshService: { matchLabels: { tier: 'x' } } }, ports: [{ port: 80, appProtocol: 'http' }] };
  return { type: 'MeshMultiZoneService', name, spec };
}

function dataplane(name: string, labels: Record<string, string>, app: string): Body {
  const networking = { address: '10.0.0.1', inbound: [{ port: 8080, name: 'http' }] };
  return { type: 'Dataplane', name, labels: { ...labels, app }, networking };
}

function timeout(name: string, targetRef: unknown, conf: unknown, labels?: Record<string, string>): Body {
  const spec = { to: [{ targetRef, default: conf }] };
  return { type: 'MeshTimeout', name, ...(labels !== undefined && { labels }), spec };
}

function route(name: string, to: string, labels: Record<string, string>): Body {
  const matches = [{ path: { type: 'PathPrefix', value: '/slow' } }];
  return {
    type: 'MeshHTTPRoute',
    name,
    labels,
    spec: { to: [{ targetRef: { kind: 'MeshService', name: to }, rules: [{ matches, default: {} }] }] },
  };
}
