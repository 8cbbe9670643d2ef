// A mesh that is edited at random while requests go on: two servers of several protocols, external services behind an egress, another zone
// behind an ingress, and a client of all of them, each behind an Envoy with a certificate. Invariant: no edit takes away what a client of
// the test asks for.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, vi } from 'vitest';
import { objectsOf, objectOf } from '../../../src/resource/read-json.ts';
import type { JsonObject, Labels } from '../../../src/resource/types.ts';
import { EnvoyMesh, type Proxy } from '../../envoy/envoy-mesh.ts';
import { EchoServer } from '../../envoy/long-connections.ts';
import { ZoneProcess } from '../../envoy/zone-process.ts';
import { freePort } from '../../support/free-port.ts';
import { FAR, IDENTITY, OtherZone, SPREAD } from './other-zone.ts';

export const MESH = 'edits';
export const SERVERS = ['server-1', 'server-2'] as const;
export type Server = (typeof SERVERS)[number];
/** Inbounds of each server: what they and their services speak. A service means one by its number, so that it may have any name. */
const NUMBERED = { http: 'http', http2: 'http2', tcp: 'tcp', stream: 'grpc', [SPREAD]: 'http' } as const;
export type Kind = keyof typeof NUMBERED;
const KINDS = Object.keys(NUMBERED) as Kind[];
/** The inbound that a service means by its name: its port and its protocol change. */
const NAMED = 'named';
/** More services of an inbound. Two outbounds mean `alpha` and `beta` in turns; routes lead to all. */
const TWINS = { alpha: 'http', beta: 'http', gamma: 'tcp' } as const;
/** External services, and what they speak. */
const EXTERNAL = { outside: 'http', 'outside-tcp': 'tcp' } as const;
const OUTBOUNDS = [...KINDS, NAMED, 'alpha', 'beta', 'outside', 'outside-tcp', 'far', 'far-tcp', 'more'] as const;
/** So long that each client asks once more meanwhile, also on a busy machine: it is asked to connect again. */
const DRAIN_SECONDS = 4;
const ADMIN_PAGES = ['config_dump', 'clusters', 'stats'];

/** What edits change in the Dataplanes. */
type State = {
  sections: Record<string, number>;
  labels: Record<string, number>;
  isSwapped: boolean;
  more: Set<string>;
  moved: Set<string>;
  /** Of the inbound with a name. */
  ports: Record<Server, number>;
  protocols: Record<Server, string>;
  /** The server whose inbound with a name is not ready. */
  resting: Server | null;
  /** Servers whose inbound of the service of both zones is not ready. */
  away: Set<Server>;
};

/** Ports of applications. */
type Applications = Readonly<Record<Kind | typeof NAMED, number>>;

export class EditedMesh {
  readonly mesh: EnvoyMesh;
  readonly west: OtherZone;
  readonly proxies = new Map<string, { readonly proxy: Proxy; readonly mesh: EnvoyMesh }>();
  readonly #planes: readonly ZoneProcess[];
  /** Ports of the client, by what they lead to. */
  readonly called = {} as Record<(typeof OUTBOUNDS)[number], number>;
  readonly #notes: string[] = [];
  readonly #echoes: EchoServer[] = [];
  readonly #applications = {} as Record<Server, Applications>;
  /** Ports of the inbounds, the same for both servers. */
  readonly #inbounds = {} as Record<Kind | 'more', number>;
  readonly #state: State = {
    ...{ sections: {}, labels: {}, isSwapped: false, more: new Set(), moved: new Set(), resting: null, away: new Set() },
    ...{ ports: { 'server-1': 0, 'server-2': 0 }, protocols: { 'server-1': 'http', 'server-2': 'http' } },
  };

  private constructor(mesh: EnvoyMesh, west: OtherZone, planes: readonly ZoneProcess[]) {
    this.mesh = mesh;
    this.west = west;
    this.#planes = planes;
  }

  static async open(): Promise<EditedMesh> {
    const planes = await ZoneProcess.startFleet(['east', 'west'], { MERIDIAN_MULTIZONE_ZONE_IDENTITY_CHANGE_DELAY: '1s' });
    const [global, eastZone, westZone] = planes;
    if (global === undefined || eastZone === undefined || westZone === undefined) throw new Error('three control planes');
    await global.send('PUT', `/meshes/${MESH}`, { type: 'Mesh', name: MESH, skipCreatingInitialPolicies: ['*'] });
    const spec = {
      selector: { meshService: { matchLabels: { 'kuma.io/display-name': SPREAD } } },
      ports: [{ port: 80, name: 'main', appProtocol: 'http' }],
    };
    const ofBoth = { type: 'MeshMultiZoneService', mesh: MESH, name: SPREAD, spec };
    await global.send('PUT', `/meshes/${MESH}/meshmultizoneservices/${SPREAD}`, ofBoth);
    const mesh = await EnvoyMesh.join(MESH, eastZone);
    const [west, proxies] = await OtherZone.open(MESH, westZone, `spiffe://${MESH}.east.mesh.local`, DRAIN_SECONDS);
    const edited = new EditedMesh(mesh, west, planes);
    for (const [name, proxy] of Object.entries(proxies)) edited.proxies.set(name, { proxy, mesh: west.mesh });
    await edited.#write();
    return edited;
  }

  async close(): Promise<void> {
    await Promise.all([this.mesh.close(), this.west.close()]);
    for (const echo of this.#echoes) echo.close();
    await Promise.all(this.#planes.map((plane) => plane.stop()));
  }

  /** Waits until all proxies have what was written. */
  async settle(): Promise<void> {
    await this.west.mesh.settle();
    await this.west.isHeardBy(this.mesh);
    await this.mesh.settle();
  }

  /** Says what happens, for the record. */
  note(words: string): void {
    this.#notes.push(`${new Date().toISOString()} ${words}\n`);
  }

  /** Writes the notes and what each Envoy holds to a folder. */
  async keepRecord(folder: string): Promise<void> {
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, 'edits'), this.#notes.join(''));
    for (const [name, { proxy }] of this.proxies)
      for (const page of ADMIN_PAGES) await writeFile(join(folder, `${name}-${page}`), await proxy.admin(`/${page}`));
  }

  async put(type: string, name: string, body: JsonObject): Promise<void> {
    this.note(`put ${type} ${name} ${JSON.stringify(body)}`);
    await this.mesh.put(type, name, body);
  }

  async delete(type: string, name: string): Promise<void> {
    this.note(`delete ${type} ${name}`);
    await this.mesh.delete(type, name);
  }

  /** Writes everything, and waits until every service demands a certificate. */
  async #write(): Promise<void> {
    const { mesh } = this;
    const external = await this.#startApplications();
    for (const kind of KINDS) await this.#service(kind, kind);
    for (const [name, kind] of Object.entries(TWINS)) await this.#service(name, kind);
    await this.setProtocolOfService('http');
    for (const [name, port] of Object.entries(external)) {
      const match = { type: 'HostnameGenerator', port: 80, protocol: EXTERNAL[name as keyof typeof EXTERNAL] };
      await mesh.put('MeshExternalService', name, { spec: { match, endpoints: [{ address: '127.0.0.1', port }] } });
    }
    const everyone = { spiffeID: { type: 'Prefix', value: `spiffe://${MESH}.east.mesh.local` } };
    await mesh.put('MeshTrafficPermission', 'all', { spec: { rules: [{ default: { allow: [everyone] } }] } });
    await mesh.put('MeshIdentity', 'identity', IDENTITY);
    for (const name of SERVERS) await this.#start(name, { inbound: this.#inboundsOf(name) });
    await this.#start('egress', { listeners: { zoneEgress: { address: '127.0.0.1', port: await freePort() } } });
    await this.#start('client', { outbounds: this.#outbounds() });
    await this.#demandsCertificates();
    await this.west.demandsCertificates();
    await this.settle();
  }

  /** @returns ports of the external services */
  async #startApplications(): Promise<Record<keyof typeof EXTERNAL, number>> {
    const { port: http } = await this.mesh.application('answer', 'http');
    const { port: both } = await this.mesh.application('answer', 'both');
    for (const name of SERVERS) {
      const [tcp, stream] = [await EchoServer.tcp(`${name} `), await EchoServer.http2(`${name} `)];
      this.#echoes.push(tcp, stream);
      this.#applications[name] = { http, http2: both, named: both, spread: http, tcp: tcp.port, stream: stream.port };
      this.#state.ports[name] = await freePort();
    }
    for (const kind of [...KINDS, 'more'] as const) this.#inbounds[kind] = await freePort();
    for (const name of OUTBOUNDS) this.called[name] = await freePort();
    const outside = await EchoServer.tcp('outside ');
    this.#echoes.push(outside);
    return { outside: http, 'outside-tcp': outside.port };
  }

  async #start(name: string, given: Parameters<EnvoyMesh['proxy']>[1]): Promise<void> {
    const proxy = await this.mesh.proxy(name, { labels: this.#labelsOf(name), drainSeconds: DRAIN_SECONDS, ...given });
    this.proxies.set(name, { proxy, mesh: this.mesh });
  }

  async #demandsCertificates(): Promise<void> {
    for (const name of [...KINDS, NAMED, ...Object.keys(TWINS)])
      await vi.waitFor(async () => {
        const { tls } = objectOf((await this.mesh.read('MeshService', name))['status']);
        expect(tls).toEqual({ status: 'Ready', enforced: true });
      });
  }

  /** The name of an inbound. */
  sectionOf(server: Server, kind: Kind): string {
    return `${kind}-${String(this.#state.sections[server] ?? 0)}`;
  }

  /** Two outbounds mean each other's service. */
  async swapOutbounds(): Promise<void> {
    this.#state.isSwapped = !this.#state.isSwapped;
    await this.#writeClient();
  }

  /** A service, and an outbound to it, come or go. */
  async toggleService(): Promise<void> {
    if (toggle(this.#state.more, 'client')) await this.#service('more', 'http');
    await this.#writeClient();
    if (!this.#state.more.has('client')) await this.delete('MeshService', 'more');
  }

  /** All inbounds of a server that services mean by number have other names. */
  async renameInbounds(server: Server, by: number): Promise<void> {
    this.#state.sections[server] = by;
    await this.#writeServer(server);
  }

  async toggleInbound(server: Server): Promise<void> {
    toggle(this.#state.more, server);
    await this.#writeServer(server);
  }

  /** All inbounds of a server are at another address. */
  async moveServer(server: Server): Promise<void> {
    toggle(this.#state.moved, server);
    await this.#writeServer(server);
  }

  /** The inbound with a name has another port. */
  async moveInbound(server: Server): Promise<void> {
    this.#state.ports[server] = await freePort();
    await this.#writeServer(server);
  }

  /** The inbound with a name has another protocol than its service says. */
  async setProtocol(server: Server, protocol: string): Promise<void> {
    this.#state.protocols[server] = protocol;
    await this.#writeServer(server);
  }

  async setProtocolOfService(appProtocol: string): Promise<void> {
    await this.put('MeshService', NAMED, { spec: this.#serviceSpec(NAMED, appProtocol) });
  }

  /** The inbound with a name is ready on all servers but one, or on all. */
  async rest(resting: Server | null): Promise<void> {
    this.#state.resting = resting;
    for (const server of SERVERS) await this.#writeServer(server);
  }

  /** The inbound of the service of both zones is ready or not. The other zone serves while none is. */
  async toggleSpread(server: Server): Promise<void> {
    toggle(this.#state.away, server);
    await this.#writeServer(server);
  }

  async label(server: Server, by: number): Promise<void> {
    this.#state.labels[server] = by;
    await this.#writeServer(server);
  }

  /** The only egress listens on another port. */
  async moveEgress(): Promise<void> {
    await this.#rewrite('egress', { zoneEgress: { address: '127.0.0.1', port: await freePort() } });
  }

  async #service(name: string, kind: Kind): Promise<void> {
    await this.put('MeshService', name, { spec: this.#serviceSpec(this.#inbounds[kind], NUMBERED[kind]) });
  }

  #serviceSpec(targetPort: number | string, appProtocol: string): JsonObject {
    const selector = { dataplaneLabels: { matchLabels: { app: 'server' } } };
    return { selector, ports: [{ name: 'main', port: 80, targetPort, appProtocol }] };
  }

  #labelsOf(name: string): Labels {
    const app = name.replace(/-\d$/, '');
    const version = this.#state.labels[name];
    return { app, 'kuma.io/workload': app, ...(version !== undefined && { version: String(version) }) };
  }

  #inboundsOf(server: Server): JsonObject[] {
    const { more, moved, ports, protocols, resting, away } = this.#state;
    const address = `127.0.0.${String(1 + SERVERS.indexOf(server) + (moved.has(server) ? SERVERS.length : 0))}`;
    const applications = this.#applications[server];
    const at = (name: string, port: number, protocol: string, servicePort: number): JsonObject => ({
      ...{ address, name, port, protocol, serviceAddress: '127.0.0.1', servicePort },
    });
    const stateOf = (name: string): string =>
      (name === NAMED && resting === server) || (name === SPREAD && away.has(server)) ? 'NotReady' : 'Ready';
    return [
      ...KINDS.map((kind) => ({
        ...at(this.sectionOf(server, kind), this.#inbounds[kind], NUMBERED[kind], applications[kind]),
        state: stateOf(kind),
      })),
      { ...at(NAMED, ports[server], protocols[server], applications[NAMED]), state: stateOf(NAMED) },
      ...(more.has(server) ? [at('more', this.#inbounds.more, 'http', applications.http)] : []),
    ];
  }

  #outbounds(): JsonObject[] {
    const { isSwapped, more } = this.#state;
    const swapped: Readonly<Record<string, string>> = isSwapped ? { alpha: 'beta', beta: 'alpha' } : {};
    return OUTBOUNDS.filter((name) => name !== 'more' || more.has('client')).map((name) => {
      return { port: this.called[name], backendRef: refOf(swapped[name] ?? name) };
    });
  }

  async #writeServer(server: Server): Promise<void> {
    await this.#rewrite(server, { inbound: this.#inboundsOf(server) });
  }

  /** The first outbound is the one by which `settle` sees changes. */
  async #writeClient(): Promise<void> {
    const { networking } = await this.mesh.read('Dataplane', 'client');
    const [barrier = {}] = objectsOf(objectOf(networking)['outbound']);
    await this.#rewrite('client', { outbound: [barrier, ...this.#outbounds()] });
  }

  async #rewrite(name: string, part: JsonObject): Promise<void> {
    const { networking } = await this.mesh.read('Dataplane', name);
    await this.put('Dataplane', name, { labels: this.#labelsOf(name), networking: { ...objectOf(networking), ...part } });
  }
}

/** What an outbound or a route names by it. */
export function refOf(name: string): JsonObject {
  const labels = { 'kuma.io/display-name': name };
  if (name in EXTERNAL) return { kind: 'MeshExternalService', labels };
  if (name in FAR) return { kind: 'MeshService', labels: { ...labels, 'kuma.io/zone': 'west' }, port: 80 };
  return name === SPREAD ? { kind: 'MeshMultiZoneService', labels, port: 80 } : { kind: 'MeshService', name, port: 80 };
}

/** @returns whether the name is in the set now */
function toggle(names: Set<string>, name: string): boolean {
  if (!names.delete(name)) names.add(name);
  return names.has(name);
}
