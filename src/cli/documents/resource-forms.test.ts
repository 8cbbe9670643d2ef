import { afterEach, describe, expect, it, vi } from 'vitest';
import { makeRow } from '../../../test/support/make-row.ts';
import { toKubernetes } from '../../document/kubernetes-form.ts';
import { toUniversal } from '../../document/universal-form.ts';
import { typeOf, type TypeInfo } from '../../resource/type-registry.ts';
import type { JsonObject } from '../../resource/types.ts';
import type { Item } from '../client/api-client.ts';
import { resourceForms } from './resource-forms.ts';

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

afterEach(() => {
  process.exitCode = undefined;
});

async function gatewayForm(items: readonly Item[], list = meshWith(), type = 'MeshHTTPRoute'): Promise<unknown> {
  return await resourceForms['gateway-api']?.(typeOf(type), items, { list });
}

it('get --format kubernetes prints the same form as the control plane', async () => {
  const info = typeOf('MeshTimeout');
  const row = makeRow(info.name, 'slow.shop', { labels: LABELS, spec: { to: [] } });
  const printed = await resourceForms['kubernetes']?.(info, [toUniversal(info, row) as Item], { list: meshWith() });
  expect(printed).toEqual([toKubernetes(info, row)]);
});

describe('get --format gateway-api', () => {
  it('prints a mesh route as an HTTPRoute with the port of its service', async () => {
    expect(await gatewayForm([meshRoute()])).toEqual([
      {
        apiVersion: 'gateway.networking.k8s.io/v1',
        kind: 'HTTPRoute',
        metadata: { name: 'cart', namespace: 'shop', labels: { 'kuma.io/mesh': 'default' } },
        spec: {
          parentRefs: [{ group: '', kind: 'Service', name: 'cart' }],
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

  it('includes the timeout that was derived from the route, but no timeout policy of a user', async () => {
    const made = await gatewayForm([meshRoute()], meshWith(timeout({ 'kuma.io/managed-by': 'gateway-api' })));
    expect(made).toHaveProperty('[0].spec.rules[0].timeouts', { request: '1m30s' });
    const own = await gatewayForm([meshRoute()], meshWith(timeout({})));
    expect(own).not.toHaveProperty('[0].spec.rules[0].timeouts');
  });

  it('prints an HTTPRoute as it was written, with its status', async () => {
    const spec = { parentRefs: [{ kind: 'Service', name: 'cart' }], rules: [{ forwardTo: [] }] };
    const status = { parents: [{ conditions: [] }] };
    const documents = await gatewayForm([{ ...item('HTTPRoute', spec), status }], meshWith(), 'HTTPRoute');
    expect(documents).toMatchObject([{ kind: 'HTTPRoute', metadata: { name: 'cart', namespace: 'shop' }, spec, status }]);
  });

  it('names a route that has no Gateway API form, and prints the others', async () => {
    const selective = meshRoute({ targetRef: { kind: 'Dataplane', labels: { app: 'web' } } });
    const notes = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    expect(await gatewayForm([selective, meshRoute()])).toHaveLength(1);
    expect(String(notes.mock.calls)).toContain('default/cart: spec.targetRef: must');
    expect(process.exitCode).toBe(1);
    notes.mockRestore();
  });

  it('is for routes only, and fails when no route has a Gateway API form', async () => {
    await expect(gatewayForm([], meshWith(), 'MeshTimeout')).rejects.toThrow(/MeshTimeout has no form there/);
    const selective = meshRoute({ targetRef: { kind: 'Dataplane', labels: { app: 'web' } } });
    await expect(gatewayForm([selective])).rejects.toThrow(/default\/cart: spec\.targetRef: must/);
    expect(await gatewayForm([meshRoute()])).toHaveLength(1);
  });
});
