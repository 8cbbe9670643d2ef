// A mesh of a zone with real Envoys in it. What a test writes goes with the test; Envoys and applications stay for its file.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { Agent, request, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, inject, onTestFinished, vi } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { askOnce } from '../../src/dataplane/ask-bootstrap.ts';
import { withControlPlanes } from '../../src/dataplane/bootstrap.ts';
import { bootstrapRequest } from '../../src/dataplane/bootstrap-request.ts';
import { parseControlPlaneAddress } from '../../src/dataplane/control-plane-address.ts';
import { objectOf } from '../../src/resource/read-json.ts';
import { typeOf } from '../../src/resource/type-registry.ts';
import type { JsonObject, Labels } from '../../src/resource/types.ts';
import { endWithTest } from '../support/children.ts';
import { freePort } from '../support/free-port.ts';
import { Application, type Speech } from './application.ts';
import { sharedZone, type ZoneProcess } from './zone-process.ts';

export type Answered = { readonly status: number; readonly body: string; readonly headers: IncomingHttpHeaders };
type Question = { readonly method?: string; readonly headers?: Record<string, string | undefined>; readonly agent?: Agent };
type DataplaneOfTest = {
  readonly labels?: Labels;
  readonly inbound?: JsonObject[];
  readonly outbounds?: JsonObject[];
  readonly listeners?: JsonObject;
  /** Its proxy brings it, and takes it along. */
  readonly isBrought?: boolean;
  /** Of its Envoy; left out: so long that no test sees its end. */
  readonly drainSeconds?: number;
};
type Protocol = 'http' | 'http2' | 'grpc' | 'tcp';
/** After this time a proxy has no connection to a cluster that is gone. */
const DRAIN_MS = 5_000;
/** A service without endpoints, whose route shows which change a proxy has. */
const BARRIER = 'barrier';

export class EnvoyMesh {
  readonly name: string;
  readonly zone: ZoneProcess;
  readonly #proxies: { readonly proxy: Proxy; readonly barrier: number }[] = [];
  readonly #applications: Application[] = [];
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 20 });
  #changes = 0;

  private constructor(name: string, zone: ZoneProcess) {
    this.name = name;
    this.zone = zone;
  }

  /** A mesh without policies. */
  static async open(name: string, zone?: ZoneProcess): Promise<EnvoyMesh> {
    const mesh = new EnvoyMesh(name, zone ?? (await sharedZone()));
    await mesh.zone.send('PUT', `/meshes/${name}`, { type: 'Mesh', name, skipCreatingInitialPolicies: ['*'] });
    await mesh.service(BARRIER, { app: BARRIER });
    return mesh;
  }

  /** A mesh that a global gives to a zone. */
  static async join(name: string, zone: ZoneProcess): Promise<EnvoyMesh> {
    await vi.waitFor(() => zone.read(`/meshes/${name}`));
    const mesh = new EnvoyMesh(name, zone);
    await mesh.service(BARRIER, { app: BARRIER });
    return mesh;
  }

  async close(): Promise<void> {
    this.#agent.destroy();
    await Promise.all(this.#proxies.map(({ proxy }) => proxy.stop()));
    await Promise.all(this.#applications.map((application) => application.close()));
  }

  async put(type: string, name: string, body: JsonObject): Promise<void> {
    // A zone that has a global wants the label.
    const labels = { 'kuma.io/origin': 'zone', ...objectOf(body['labels']) };
    await this.zone.send('PUT', this.#path(type, name), { type, mesh: this.name, name, ...body, labels });
  }

  async read(type: string, name: string): Promise<JsonObject> {
    return await this.zone.read(this.#path(type, name));
  }

  /** An action on a resource, and its state: the answer to a GET under this name. */
  async act(type: string, name: string, action: string): Promise<void> {
    await this.zone.send('POST', `${this.#path(type, name)}/${action}`, {});
  }

  async ask(type: string, name: string, what: string): Promise<JsonObject> {
    return await this.zone.read(`${this.#path(type, name)}/${what}`);
  }

  async delete(type: string, name: string): Promise<void> {
    await this.zone.send('DELETE', this.#path(type, name));
  }

  /** Writes a policy that goes with the test. It is in force when this resolves. */
  async policy(type: string, name: string, spec: JsonObject): Promise<void> {
    await this.put(type, name, { spec });
    onTestFinished(async () => {
      await this.delete(type, name);
      await this.settle();
    });
    await this.settle();
  }

  /**
   * Waits until the proxies have all that was written: changes come in their order, so they have it when they have this one. Requests after
   * it have new connections.
   */
  async settle(): Promise<void> {
    const hostname = `change-${String((this.#changes += 1))}.example`;
    const filters = [{ type: 'RequestRedirect', requestRedirect: { hostname } }];
    const rules = [{ matches: [{ path: { type: 'PathPrefix', value: '/' } }], default: { filters } }];
    await this.put('MeshHTTPRoute', BARRIER, { spec: { to: [{ targetRef: { kind: 'MeshService', name: BARRIER }, rules }] } });
    for (const { proxy, barrier } of this.#proxies.filter(({ proxy }) => !proxy.hasEnded))
      await vi.waitFor(async () => {
        expect((await this.get(barrier)).headers.location).toContain(hostname);
        expect(await proxy.sum(/^(cluster_manager\.warming_clusters|listener_manager\.total_listeners_warming)$/)).toBe(0);
      });
    // Connections that are open keep the listener with which they began.
    this.#agent.destroy();
  }

  /** A service of one port, whose number is `port`. */
  async service(name: string, labels: Labels, appProtocol: Protocol = 'http', port = 80): Promise<void> {
    const ports = [{ name: 'main', port, targetPort: 'main', appProtocol }];
    await this.put('MeshService', name, { spec: { selector: { dataplaneLabels: { matchLabels: labels } }, ports } });
  }

  async application(name: string, speech: Speech): Promise<Application> {
    const application = await Application.listen(name, speech);
    this.#applications.push(application);
    return application;
  }

  /** An endpoint that has no proxy: clients reach the application itself. */
  async endpoint(name: string, labels: Labels, speech: Speech = 'both'): Promise<Application> {
    const application = await this.application(name, speech);
    const protocol = speech === 'tcp' ? 'tcp' : 'http';
    const networking = { address: '127.0.0.1', inbound: [{ name: 'main', port: application.port, protocol }] };
    await this.put('Dataplane', name, { labels, networking });
    return application;
  }

  /**
   * A Dataplane and its Envoy, which has its configuration.
   * @param inbound left out: one that no test asks
   * @param listeners more of `networking`
   */
  async proxy(name: string, given: DataplaneOfTest): Promise<Proxy> {
    const { labels = {}, inbound, outbounds = [], listeners = {}, isBrought = false, drainSeconds = null } = given;
    const barrier = await freePort();
    const unused = [{ port: await freePort(), state: 'Ignored' }];
    const outbound = [{ port: barrier, backendRef: { kind: 'MeshService', name: BARRIER, port: 80 } }, ...outbounds];
    const networking = { address: '127.0.0.1', inbound: inbound ?? unused, outbound, ...listeners };
    const ofZone = { 'kuma.io/origin': 'zone', ...labels };
    const brought = { type: 'Dataplane', mesh: this.name, name, labels: ofZone, networking };
    if (!isBrought) await this.put('Dataplane', name, { labels, networking });
    const proxy = await Proxy.start(this.zone, this.name, name, isBrought ? brought : null, drainSeconds);
    this.#proxies.push({ proxy, barrier });
    await this.settle();
    return proxy;
  }

  /** @param service name of a MeshService @param count of outbounds to it */
  async outbounds(services: readonly string[], port = 80): Promise<{ list: JsonObject[]; portOf: (service: string) => number }> {
    const ports = new Map<string, number>();
    for (const service of services) ports.set(service, await freePort());
    const list = [...ports].map(([name, at]) => ({ port: at, backendRef: { kind: 'MeshService', name, port } }));
    return {
      list,
      portOf: (service) => {
        const found = ports.get(service);
        if (found === undefined) throw new Error(`no outbound to ${service}`);
        return found;
      },
    };
  }

  /** Status 0 where nothing answers. */
  async get(port: number, path = '/', { method = 'GET', headers = {}, agent = this.#agent }: Question = {}): Promise<Answered> {
    const calling = request({ host: '127.0.0.1', port, path, method, headers, agent });
    try {
      calling.end();
      const [answer] = (await once(calling, 'response')) as [IncomingMessage];
      return { status: answer.statusCode ?? 0, body: await text(answer), headers: answer.headers };
    } catch {
      return { status: 0, body: '', headers: {} };
    }
  }

  /** The answers to many requests, twenty at a time. @param make the question of each */
  async many(count: number, port: number, path = '/', make: (at: number) => Question = () => ({})): Promise<Answered[]> {
    const answers: Answered[] = [];
    let next = 0;
    const work = async (): Promise<void> => {
      while (next < count) answers.push(await this.get(port, path, make(next++)));
    };
    await Promise.all(Array.from({ length: 20 }, work));
    return answers;
  }

  /** What a TCP connection says until it ends; null for one that is refused or ends without a word. */
  async say(port: number): Promise<string | null> {
    const socket = connect(port, '127.0.0.1');
    try {
      return (await text(socket)) || null;
    } catch {
      return null;
    }
  }

  #path(type: string, name: string): string {
    return `/meshes/${this.name}/${typeOf(type).path}/${name}`;
  }
}

/** An Envoy of a Dataplane. */
export class Proxy {
  readonly folder: string;
  readonly #child: ChildProcess;

  private constructor(folder: string, child: ChildProcess) {
    this.folder = folder;
    this.#child = child;
  }

  static async start(
    zone: ZoneProcess,
    mesh: string,
    name: string,
    dataplane: JsonObject | null = null,
    drainSeconds: number | null = null,
  ): Promise<Proxy> {
    const folder = join(inject('embeddedFolder'), `${mesh}-${name}`);
    // A proxy that starts again has the folder of the one before it.
    await mkdir(folder, { recursive: true });
    // Connections of HTTP are asked to close at once: those to a cluster that is gone end long before the others.
    const drainMs = drainSeconds === null ? DRAIN_MS : drainSeconds * 1_000;
    const body = bootstrapRequest({
      ...{ mesh, name, token: '', dataplane, envoy: { version: '1', build: '1' }, caCert: '' },
      ...{ readinessPort: 0, workDir: folder, systemCaPath: '', ipv6Enabled: false, forwardsLogs: false, drainMs },
    });
    const addresses = zone.urls.map(parseControlPlaneAddress);
    const asked = { addresses, ca: await zone.ca(), body };
    const answer = await askOnce(asked, { clock: systemClock, signal: new AbortController().signal });
    if ('kind' in answer) throw new Error(answer.reason);
    const file = join(folder, 'bootstrap.json');
    await writeFile(file, JSON.stringify(withControlPlanes(answer.bootstrap, addresses)));
    const drain = ['--drain-time-s', String(drainSeconds ?? 600), '--drain-strategy', 'immediate'];
    const args = ['-c', file, '--disable-hot-restart', '--concurrency', '1', '--log-level', 'critical', ...drain];
    return new Proxy(folder, endWithTest(spawn(inject('envoy'), args, { stdio: ['ignore', 'ignore', 'inherit'] })));
  }

  get hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  async stop(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> {
    if (this.hasEnded) return;
    const ended = once(this.#child, 'exit');
    this.#child.kill(signal);
    await ended;
  }

  /** Sum of the counters and gauges with such names. 0 while Envoy does not answer. */
  async sum(names: RegExp): Promise<number> {
    const answer = await this.admin(`/stats?filter=${encodeURIComponent(names.source)}`);
    const lines = answer.matchAll(/^(\S+): (\d+)$/gm);
    return [...lines].reduce((total, [, , value]) => total + Number(value), 0);
  }

  /** A page of the admin interface; `''` while Envoy does not answer. */
  async admin(path: string): Promise<string> {
    const calling = request({ socketPath: join(this.folder, 'kuma-envoy-admin.sock'), path, agent: false });
    try {
      calling.end();
      const [answer] = (await once(calling, 'response')) as [IncomingMessage];
      return await text(answer);
    } catch {
      return '';
    }
  }
}
