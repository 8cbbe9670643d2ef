// The other zone of a mesh that is edited at random: a server of services that the first zone calls, behind an ingress. One of them is in
// both zones.
import { expect, vi } from 'vitest';
import { objectOf, objectsOf } from '../../../src/resource/read-json.ts';
import type { JsonObject, Labels } from '../../../src/resource/types.ts';
import { EnvoyMesh, type Proxy } from '../../envoy/envoy-mesh.ts';
import { EchoServer } from '../../envoy/long-connections.ts';
import type { ZoneProcess } from '../../envoy/zone-process.ts';
import { freePort } from '../../support/free-port.ts';

/** Services of this zone, and what they speak. */
export const FAR = { far: 'http', 'far-tcp': 'tcp' } as const;
/** The service of both zones. */
export const SPREAD = 'spread';
/** Each zone has one, for all its proxies. */
export const IDENTITY = {
  spec: {
    selector: { dataplane: { matchLabels: {} } },
    provider: { type: 'Bundled', bundled: { autogenerate: { enabled: true } } },
  },
};
const SERVICES = { ...FAR, [SPREAD]: 'http' } as const;
/** What a zone tells the other about: its copy there is equal at rest. */
const SHARED = ['meshservices', 'meshzoneaddresses', 'meshtrusts'];

export class OtherZone {
  readonly mesh: EnvoyMesh;
  readonly #echo: EchoServer;
  readonly #labels: Record<string, Labels>;

  private constructor(mesh: EnvoyMesh, echo: EchoServer) {
    this.mesh = mesh;
    this.#echo = echo;
    this.#labels = Object.fromEntries(['far', 'ingress'].map((name) => [name, { app: name, 'kuma.io/workload': name }]));
  }

  /** @param trusted prefix of the SPIFFE IDs of its clients @param drainSeconds of its Envoys */
  static async open(
    name: string,
    zone: ZoneProcess,
    trusted: string,
    drainSeconds: number,
  ): Promise<[OtherZone, Record<string, Proxy>]> {
    const other = new OtherZone(await EnvoyMesh.join(name, zone), await EchoServer.tcp('west '));
    const { mesh } = other;
    const allow = [{ spiffeID: { type: 'Prefix', value: trusted } }];
    await mesh.put('MeshTrafficPermission', 'of-west', { spec: { rules: [{ default: { allow } }] } });
    await mesh.put('MeshIdentity', 'identity', IDENTITY);
    const { port: answer } = await mesh.application('answer', 'http');
    const inbound: JsonObject[] = [];
    for (const [service, protocol] of Object.entries(SERVICES)) {
      const [port, servicePort] = [await freePort(), protocol === 'tcp' ? other.#echo.port : answer];
      inbound.push({ address: '127.0.0.9', name: service, port, protocol, serviceAddress: '127.0.0.1', servicePort });
      const ports = [{ name: 'main', port: 80, targetPort: port, appProtocol: protocol }];
      await mesh.put('MeshService', service, { spec: { selector: { dataplaneLabels: { matchLabels: { app: 'far' } } }, ports } });
    }
    const far = await mesh.proxy('far', { labels: other.#labels['far'] ?? {}, inbound, drainSeconds });
    const listeners = await newIngress();
    const ingress = await mesh.proxy('ingress', { labels: other.#labels['ingress'] ?? {}, listeners, drainSeconds });
    return [other, { far, ingress }];
  }

  /** Waits until every service of it demands a certificate. */
  async demandsCertificates(): Promise<void> {
    for (const name of Object.keys(SERVICES))
      await vi.waitFor(async () => {
        const { tls } = objectOf((await this.mesh.read('MeshService', name))['status']);
        expect(tls).toEqual({ status: 'Ready', enforced: true });
      });
  }

  /** Waits until another zone has all that this one says. */
  async isHeardBy(mesh: EnvoyMesh): Promise<void> {
    for (const path of SHARED)
      await vi.waitFor(async () => expect(await this.#saidTo(mesh, path)).toEqual(await this.#saidTo(this.mesh, path)));
  }

  /** The only ingress listens on another port. */
  async moveIngress(): Promise<void> {
    await this.#rewrite('ingress', await newIngress());
  }

  /** The server has another label. */
  async label(by: number): Promise<void> {
    this.#labels['far'] = { ...this.#labels['far'], version: String(by) };
    await this.#rewrite('far', {});
  }

  async close(): Promise<void> {
    await this.mesh.close();
    this.#echo.close();
  }

  /** What the resources of this zone say in a zone, by their names. */
  async #saidTo({ name, zone }: EnvoyMesh, path: string): Promise<Record<string, unknown>> {
    const items = objectsOf((await zone.read(`/meshes/${name}/${path}?size=1000`))['items']);
    const own = items.filter(({ labels }) => objectOf(labels)['kuma.io/zone'] === this.mesh.zone.name);
    return Object.fromEntries(own.map(({ labels, spec }) => [String(objectOf(labels)['kuma.io/display-name']), spec]));
  }

  async #rewrite(name: string, part: JsonObject): Promise<void> {
    const { networking } = await this.mesh.read('Dataplane', name);
    await this.mesh.put('Dataplane', name, {
      labels: this.#labels[name] ?? {},
      networking: { ...objectOf(networking), ...part },
    });
  }
}

async function newIngress(): Promise<JsonObject> {
  const port = await freePort();
  return { zoneIngress: { address: '127.0.0.1', port, advertisedAddress: '127.0.0.1', advertisedPort: port } };
}
