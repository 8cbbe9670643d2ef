// A mesh that is edited at random while requests go on: two servers of three protocols, an external service behind an egress, and a client
// of all of them, each behind an Envoy with a certificate. Invariant: no edit takes away what a client of the test asks for.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, vi } from 'vitest';
import { objectsOf, objectOf } from '../../../src/resource/read-json.ts';
import type { JsonObject, Labels } from '../../../src/resource/types.ts';
import { EnvoyMesh, type Proxy } from '../../envoy/envoy-mesh.ts';
import { EchoServer } from '../../envoy/long-connections.ts';
import { freePort } from '../../support/free-port.ts';

const MESH = 'edits';
const SERVERS = ['server-1', 'server-2'] as const;
const PROTOCOLS = { http: 'http', tcp: 'tcp', stream: 'grpc' } as const;
type Kind = keyof typeof PROTOCOLS;
const DRAIN_SECONDS = 2;
const ADMIN_PAGES = ['config_dump', 'clusters', 'stats'];
const KINDS = Object.keys(PROTOCOLS) as Kind[];
/** Services of the inbound for HTTP that two outbounds mean in turns. */
const TWINS = ['alpha', 'beta'] as const;

/** What edits change in the Dataplanes. */
type State = {
  sections: Record<string, number>;
  labels: Record<string, number>;
  isSwapped: boolean;
  more: Set<string>;
  moved: Set<string>;
};

export class EditedMesh {
  readonly mesh: EnvoyMesh;
  readonly proxies = new Map<string, Proxy>();
  /** Ports of the client, by what they lead to. */
  readonly called: Readonly<Record<Kind | 'outside' | 'more' | (typeof TWINS)[number], number>>;
  readonly #notes: string[] = [];
  readonly #echoes: readonly EchoServer[];
  /** Ports of inbounds and of their applications, the same for both servers. */
  readonly #inbounds: Readonly<Record<Kind | 'more', { readonly port: number; readonly application: number }>>;
  readonly #state: State = { sections: {}, labels: {}, isSwapped: false, more: new Set(), moved: new Set() };

  private constructor(
    mesh: EnvoyMesh,
    called: EditedMesh['called'],
    inbounds: Record<Kind | 'more', { port: number; application: number }>,
    echoes: readonly EchoServer[],
  ) {
    this.mesh = mesh;
    this.called = called;
    this.#inbounds = inbounds;
    this.#echoes = echoes;
  }

  static async open(): Promise<EditedMesh> {
    const mesh = await EnvoyMesh.open(MESH);
    const [http, tcp, stream] = [await mesh.application('answer', 'http'), await EchoServer.tcp(), await EchoServer.http2()];
    const inboundOf = async ({ port }: { readonly port: number }): Promise<{ port: number; application: number }> => ({
      port: await freePort(),
      application: port,
    });
    const called = {
      ...{ http: await freePort(), tcp: await freePort(), stream: await freePort() },
      ...{ outside: await freePort(), alpha: await freePort(), beta: await freePort() },
      more: await freePort(),
    };
    const inbounds = {
      ...{ http: await inboundOf(http), tcp: await inboundOf(tcp) },
      ...{ stream: await inboundOf(stream), more: await inboundOf(http) },
    };
    const edited = new EditedMesh(mesh, called, inbounds, [tcp, stream]);
    await edited.#write();
    return edited;
  }

  async close(): Promise<void> {
    await this.mesh.close();
    for (const echo of this.#echoes) echo.close();
  }

  /** Says what happens, for the record. */
  note(words: string): void {
    this.#notes.push(`${new Date().toISOString()} ${words}\n`);
  }

  /** Writes the notes and what each Envoy holds to a folder. */
  async keepRecord(folder: string): Promise<void> {
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, 'edits'), this.#notes.join(''));
    for (const [name, proxy] of this.proxies)
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
    for (const kind of KINDS) await this.#service(kind, kind);
    for (const name of TWINS) await this.#service(name, 'http');
    const match = { type: 'HostnameGenerator', port: 80, protocol: 'http' };
    const endpoints = [{ address: '127.0.0.1', port: this.#inbounds.http.application }];
    await mesh.put('MeshExternalService', 'outside', { spec: { match, endpoints } });
    const everyone = { spiffeID: { type: 'Prefix', value: `spiffe://${MESH}.east.mesh.local` } };
    await mesh.put('MeshTrafficPermission', 'all', { spec: { rules: [{ default: { allow: [everyone] } }] } });
    const provider = { type: 'Bundled', bundled: { autogenerate: { enabled: true } } };
    await mesh.put('MeshIdentity', 'identity', { spec: { selector: { dataplane: { matchLabels: {} } }, provider } });
    for (const name of SERVERS)
      this.proxies.set(
        name,
        await mesh.proxy(name, { labels: this.#labelsOf(name), inbound: this.#inboundsOf(name), drainSeconds: DRAIN_SECONDS }),
      );
    const zoneEgress = { address: '127.0.0.1', port: await freePort() };
    this.proxies.set(
      'egress',
      await mesh.proxy('egress', { labels: this.#labelsOf('egress'), listeners: { zoneEgress }, drainSeconds: DRAIN_SECONDS }),
    );
    this.proxies.set(
      'client',
      await mesh.proxy('client', { labels: this.#labelsOf('client'), outbounds: this.#outbounds(), drainSeconds: DRAIN_SECONDS }),
    );
    for (const name of [...KINDS, ...TWINS])
      await vi.waitFor(async () => {
        const { tls } = objectOf((await mesh.read('MeshService', name))['status']);
        expect(tls).toEqual({ status: 'Ready', enforced: true });
      });
    await mesh.settle();
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

  /** All inbounds of a server have other names. */
  async renameInbounds(name: string, by: number): Promise<void> {
    this.#state.sections[name] = by;
    await this.#writeServer(name);
  }

  async toggleInbound(name: string): Promise<void> {
    toggle(this.#state.more, name);
    await this.#writeServer(name);
  }

  /** All inbounds of a server are at another address. */
  async moveServer(name: string): Promise<void> {
    toggle(this.#state.moved, name);
    await this.#writeServer(name);
  }

  async label(name: string, by: number): Promise<void> {
    this.#state.labels[name] = by;
    await this.#writeServer(name);
  }

  /** The only egress listens on another port. */
  async moveEgress(): Promise<void> {
    await this.#rewrite('egress', { zoneEgress: { address: '127.0.0.1', port: await freePort() } });
  }

  /** A service means its inbounds by their number, so that they may have any name. */
  async #service(name: string, kind: Kind): Promise<void> {
    const selector = { dataplaneLabels: { matchLabels: { app: 'server' } } };
    const ports = [{ name: 'main', port: 80, targetPort: this.#inbounds[kind].port, appProtocol: PROTOCOLS[kind] }];
    await this.put('MeshService', name, { spec: { selector, ports } });
  }

  #labelsOf(name: string): Labels {
    const app = name.replace(/-\d$/, '');
    const version = this.#state.labels[name];
    return { app, 'kuma.io/workload': app, ...(version !== undefined && { version: String(version) }) };
  }

  #inboundsOf(name: string): JsonObject[] {
    const { sections, more, moved } = this.#state;
    const address = `127.0.0.${String(1 + SERVERS.findIndex((server) => server === name) + (moved.has(name) ? SERVERS.length : 0))}`;
    const inboundOf = (kind: Kind | 'more', protocol: string): JsonObject => ({
      ...{ address, name: `${kind}-${String(sections[name] ?? 0)}`, port: this.#inbounds[kind].port, protocol },
      ...{ serviceAddress: '127.0.0.1', servicePort: this.#inbounds[kind].application },
    });
    return [...KINDS.map((kind) => inboundOf(kind, PROTOCOLS[kind])), ...(more.has(name) ? [inboundOf('more', 'http')] : [])];
  }

  #outbounds(): JsonObject[] {
    const { isSwapped, more } = this.#state;
    const { outside, alpha, beta } = this.called;
    const to = (port: number, name: string): JsonObject => ({ port, backendRef: { kind: 'MeshService', name, port: 80 } });
    const ofOutside = { kind: 'MeshExternalService', labels: { 'kuma.io/display-name': 'outside' } };
    return [
      ...KINDS.map((kind) => to(this.called[kind], kind)),
      { port: outside, backendRef: ofOutside },
      ...(isSwapped ? [to(alpha, 'beta'), to(beta, 'alpha')] : [to(alpha, 'alpha'), to(beta, 'beta')]),
      ...(more.has('client') ? [to(this.called.more, 'more')] : []),
    ];
  }

  async #writeServer(name: string): Promise<void> {
    await this.#rewrite(name, { inbound: this.#inboundsOf(name) });
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

/** @returns whether the name is in the set now */
function toggle(names: Set<string>, name: string): boolean {
  if (!names.delete(name)) names.add(name);
  return names.has(name);
}
