import { describe, expect, it } from 'vitest';
import { makeDataplane, makeRoute, makeService, makeTo } from '../../test/policy/make-resource.ts';
import type { JsonObject, Resource } from '../resource/types.ts';
import { buildRules } from './build-rules.ts';
import { confInForce } from './conf-in-force.ts';
import { MeshIndex } from './mesh-index.ts';

const BASE = 'kri_msvc_default___backend_';
const ROUTE = 'kri_mhttpr_default___r_';
const SERVICE = { kind: 'MeshService', name: 'backend' };
const PORT = { ...SERVICE, sectionName: 'admin' };
const TOP = { kind: 'MeshHTTPRoute', name: 'r' };

/** `source conf` on the port `admin` of the service, on its route `r`; a conf is the timeout of requests. */
function inForce(
  policies: readonly Resource[],
  { section = 'admin', route = ROUTE }: { section?: string; route?: string | null } = {},
): string | null {
  const index = new MeshIndex('default', [makeDataplane('d'), makeService('backend'), makeRoute('r', SERVICE), ...policies]);
  const [proxy] = index.proxies();
  if (proxy === undefined) throw new Error('no proxy');
  const rules = buildRules(index, proxy).types.find(({ type }) => type === 'MeshTimeout');
  if (rules === undefined) return null;
  const mesh = index.kriOf(index.meshResource());
  const found = confInForce(rules, { base: BASE, section, mesh, route: route ?? undefined });
  return found === null
    ? null
    : `${found.source} ${String((found.conf[0]?.['http'] as JsonObject | undefined)?.['requestTimeout'])}`;
}

const timeout = (name: string, ref: JsonObject, top?: JsonObject): Resource =>
  makeTo('MeshTimeout', name, ref, { http: { requestTimeout: name } }, {}, top);
const [mesh, service, port] = [timeout('1s', { kind: 'Mesh' }), timeout('2s', SERVICE), timeout('3s', PORT)];
const [old, oldService, oldPort] = [timeout('4s', { kind: 'Mesh' }, TOP), timeout('5s', SERVICE, TOP), timeout('6s', PORT, TOP)];
const route = timeout('7s', TOP);

describe('the conf in force on a route of a port', () => {
  it.each<[string | null, Resource[]]>([
    [null, []],
    ['mesh 1s', [mesh]],
    ['service 2s', [mesh, service]],
    ['port 3s', [mesh, service, port]],
    ['old route 4s', [mesh, service, port, old]],
    ['old route 5s', [mesh, service, port, old, oldService]],
    ['old route 6s', [mesh, service, port, old, oldService, oldPort]],
    ['route 7s', [mesh, service, port, old, oldService, oldPort, route]],
  ])('is %s: the nearest key with a conf', (expected, policies) => {
    expect(inForce(policies)).toBe(expected);
  });

  it('is that of the port or service without a route, and that of the service without a section', () => {
    const all = [mesh, service, port, old, oldService, oldPort, route];
    expect(inForce(all, { route: null })).toBe('port 3s');
    expect(inForce(all, { section: '', route: null })).toBe('service 2s');
    expect(inForce(all, { route: 'kri_mhttpr_default___other_' })).toBe('port 3s');
  });

  it('is none of a policy that says nothing about routes', () => {
    const idle = makeTo('MeshTimeout', 'idle', { kind: 'Mesh' }, { connectionTimeout: '9s' }, {}, TOP);
    expect(inForce([mesh, idle])).toBe('old route 1s');
    expect(inForce([idle])).toBeNull();
    expect(inForce([service, makeTo('MeshTimeout', 'empty', TOP, {})])).toBe('service 2s');
  });
});
