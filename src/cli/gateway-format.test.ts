import { describe, expect, it } from 'vitest';
import { typeOf, type TypeInfo } from '../resource/type-registry.ts';
import type { JsonObject } from '../resource/types.ts';
import type { Item } from './client/api-client.ts';
import { gatewayForm, gatewayFormatOf } from './gateway-format.ts';

const LABELS = { 'k8s.kuma.io/namespace': 'shop', 'kuma.io/display-name': 'cart', 'kuma.io/zone': 'east' };
const CART = { kind: 'MeshService', name: 'cart', namespace: 'shop' };

function item(type: string, spec: JsonObject, labels: Record<string, string> = {}): Item {
  return { type, mesh: 'default', name: 'cart.shop', labels: { ...LABELS, ...labels }, spec };
}

function meshRoute(spec: JsonObject = {}): Item {
  const rules = [{ matches: [{ path: { type: 'PathPrefix', value: '/' } }], default: {} }];
  return item('MeshHTTPRoute', { to: [{ targetRef: CART, rules }], ...spec });
}

/** A mesh with the service that the route means, and this MeshTimeout. */
function meshWith(timeout?: Item): (info: TypeInfo, mesh: string) => Promise<readonly Item[]> {
  return async ({ name }) => {
    await Promise.resolve();
    if (name === 'MeshService') return [item('MeshService', { ports: [{ port: 8080, appProtocol: 'http' }] })];
    return name === 'MeshTimeout' && timeout !== undefined ? [timeout] : [];
  };
}

function timeout(labels: Record<string, string>): Item {
  const targetRef = { kind: 'MeshHTTPRoute', name: 'cart', namespace: 'shop' };
  return item('MeshTimeout', { to: [{ targetRef, default: { http: { requestTimeout: '1m30s' } } }] }, labels);
}

describe('get --format gateway-api', () => {
  it('says a mesh route as an HTTPRoute, with the port that its service has', async () => {
    const { documents, refused } = await gatewayFormatOf([meshRoute()], meshWith());
    expect(refused).toEqual([]);
    expect(documents).toEqual([
      {
        apiVersion: 'gateway.networking.k8s.io/v1',
        kind: 'HTTPRoute',
        metadata: { name: 'cart', namespace: 'shop', labels: { 'kuma.io/mesh': 'default' } },
        spec: {
          parentRefs: [{ kind: 'Service', name: 'cart' }],
          rules: [
            {
              matches: [{ path: { type: 'PathPrefix', value: '/' } }],
              backendRefs: [{ kind: 'Service', name: 'cart', port: 8080 }],
            },
          ],
        },
      },
    ]);
  });

  it('takes the timeout along that was made of the route, and leaves policies of people alone', async () => {
    const made = await gatewayFormatOf([meshRoute()], meshWith(timeout({ 'kuma.io/managed-by': 'gateway-api' })));
    expect(made).toHaveProperty('documents[0].spec.rules[0].timeouts', { request: '1m30s' });
    const own = await gatewayFormatOf([meshRoute()], meshWith(timeout({})));
    expect(own).not.toHaveProperty('documents[0].spec.rules[0].timeouts');
  });

  it('prints an HTTPRoute as it was written, with its status', async () => {
    const spec = { parentRefs: [{ kind: 'Service', name: 'cart' }], rules: [{ forwardTo: [] }] };
    const status = { parents: [{ conditions: [] }] };
    const { documents } = await gatewayFormatOf([{ ...item('HTTPRoute', spec), status }], meshWith());
    expect(documents).toMatchObject([{ kind: 'HTTPRoute', metadata: { name: 'cart', namespace: 'shop' }, spec, status }]);
  });

  it('names a route that cannot be said, and says the others', async () => {
    const selective = meshRoute({ targetRef: { kind: 'Dataplane', labels: { app: 'web' } } });
    const { documents, refused } = await gatewayFormatOf([selective, meshRoute()], meshWith());
    expect(documents).toHaveLength(1);
    expect(refused).toMatchObject([{ route: 'default/cart', violations: [{ field: 'spec.targetRef' }] }]);
  });

  it('is for routes alone, and fails when nothing can be said', async () => {
    const client = { list: meshWith() };
    await expect(gatewayForm(typeOf('MeshTimeout'), [], client)).rejects.toThrow(/MeshTimeout has no form there/);
    const selective = meshRoute({ targetRef: { kind: 'Dataplane', labels: { app: 'web' } } });
    await expect(gatewayForm(typeOf('MeshHTTPRoute'), [selective], client)).rejects.toThrow(
      /default\/cart: spec\.targetRef: must/,
    );
    expect(await gatewayForm(typeOf('MeshHTTPRoute'), [meshRoute()], client)).toHaveLength(1);
  });
});
