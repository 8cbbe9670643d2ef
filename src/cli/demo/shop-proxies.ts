// The carts, the catalog and the zone proxy of the shop in each zone, each an Envoy of `meridian dataplane run`; behind the first ones
// are small applications.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { objectOf, objectsOf, textOf } from '../../resource/read-json.ts';
import type { JsonObject } from '../../resource/types.ts';
import { ApiClient } from '../client/api-client.ts';
import type { ResourceDocument } from '../documents/read-files.ts';
import { startCart, startCatalog, type Application } from './applications.ts';
import { ChildProgram } from './child-program.ts';
import type { Fleet } from './fleet.ts';
import { findFreePorts } from './free-ports.ts';

const MESH = 'shop';
const CATALOG = 'catalog-1';
/** Dataplane → the answer of the application behind it. */
const CARTS: ReadonlyMap<string, string> = new Map([
  ['cart-1', 'v1'],
  ['cart-2', 'v2'],
]);
const ZONE_PROXY = 'zone-proxy';
const NAMES = [...CARTS.keys(), CATALOG, ZONE_PROXY];
/** The cart that calls the catalogs: of all zones, and of the other one. */
const CALLER = 'cart-1';
/** The limit of the wait for the signing key of Dataplane tokens, which comes from global, in milliseconds. */
const TOKEN_MS = 30_000;

/** The ports at which one zone of the shop takes requests. */
export type ShopZone = {
  readonly zone: string;
  /** Port on which the Envoy of the catalog takes requests for carts. */
  readonly carts: number;
  /** Ports on which the Envoy of a cart takes requests for the catalog of any zone, and for that of the other zone. */
  readonly anyCatalog: number;
  readonly otherCatalog: number;
  /** The Dataplane of the catalog, as it is applied. */
  readonly catalogDataplane: JsonObject;
};

export class ShopProxies {
  readonly zones: ShopZone[] = [];
  readonly #applications: Application[] = [];
  readonly #programs: ChildProgram[] = [];

  /**
   * Starts the applications of a zone, and gives its Dataplanes addresses of this machine; the others stay as they are.
   * @returns the documents to apply
   */
  async place(zone: string, documents: readonly ResourceDocument[]): Promise<ResourceDocument[]> {
    const [carts = 0, anyCatalog = 0, otherCatalog = 0, ...inbounds] = await findFreePorts(3 + NAMES.length + 1);
    const applications = new Map<string, Application>();
    for (const [name, version] of CARTS) applications.set(name, await startCart(version));
    applications.set(CATALOG, await startCatalog(zone, carts));
    this.#applications.push(...applications.values());
    const outbounds = new Map([
      [CATALOG, [carts]],
      [CALLER, [anyCatalog, otherCatalog]],
    ]);
    const portOf = (name: string): number => inbounds[NAMES.indexOf(name)] ?? 0;
    const placed = documents.map((document) => {
      const { info, name, body } = document;
      if (info.name !== 'Dataplane' || !NAMES.includes(name)) return document;
      const given = body['networking'] as JsonObject;
      const application = applications.get(name);
      const networking =
        application === undefined
          ? zoneProxyHere(given, portOf(name), inbounds.at(-1) ?? 0)
          : here(given, { port: portOf(name), application, outbounds: outbounds.get(name) ?? [] });
      return { ...document, body: { ...body, networking } };
    });
    const catalogDataplane = placed.find(({ info, name }) => info.name === 'Dataplane' && name === CATALOG)?.body ?? {};
    this.zones.push({ zone, carts, anyCatalog, otherCatalog, catalogDataplane });
    return placed;
  }

  /** Starts the Envoys and waits until they are ready. @param envoy path of the program */
  async start(fleet: Fleet, envoy: string, signal: AbortSignal): Promise<void> {
    const readiness = await findFreePorts(this.zones.length * NAMES.length);
    for (const { zone } of this.zones) {
      const client = new ApiClient(fleet.members.find(({ name }) => name === zone)?.api ?? '');
      for (const name of NAMES) {
        const token = join(fleet.folder, `${zone}-${name}.token`);
        // A path of a socket is short, and the folder for temporary files may be a long one.
        const folder = join(fleet.folder, String(this.#programs.length));
        await writeFile(token, await tokenOf(client, name, signal), { mode: 0o600 });
        const port = readiness.pop() ?? 0;
        const { url = '', caFile = '' } = fleet.proxyPorts.get(zone) ?? {};
        this.#programs.push(
          new ChildProgram({
            name: `${zone}-${name}`,
            args: [
              ...['dataplane', 'run', '--mesh', MESH, '--name', name, '--cp-address', url, '--ca-cert-file', caFile],
              ...['--dataplane-token-file', token, '--work-dir', folder, '--envoy', envoy],
              ...['--concurrency', '1', '--drain-time', '0s', '--readiness-port', String(port)],
            ],
            readyUrl: `http://127.0.0.1:${String(port)}/ready`,
            folder: fleet.folder,
            env: {},
          }),
        );
      }
    }
    await Promise.all(this.#programs.map((program) => program.ready(signal)));
  }

  async stop(): Promise<void> {
    await Promise.all(this.#programs.map((program) => program.stop()));
    await Promise.all(this.#applications.map((application) => application.close()));
  }
}

type Place = { readonly port: number; readonly application: Application; readonly outbounds: readonly number[] };

/** The networking of a Dataplane on this machine. */
function here({ inbound, outbound }: JsonObject, { port, application, outbounds }: Place): JsonObject {
  const listed = objectsOf(outbound).flatMap((one, at) => {
    const own = outbounds[at];
    return own === undefined ? [] : [{ ...one, port: own }];
  });
  return {
    address: '127.0.0.1',
    inbound: objectsOf(inbound).map((one) => ({
      ...{ name: textOf(one['name']), protocol: textOf(one['protocol']) },
      ...{ port, serviceAddress: '127.0.0.1', servicePort: application.port },
    })),
    ...(listed.length > 0 && { outbound: listed }),
  };
}

/** The networking of a zone proxy on this machine. */
function zoneProxyHere({ zoneIngress, zoneEgress }: JsonObject, ingress: number, egress: number): JsonObject {
  const address = '127.0.0.1';
  const advertised = { advertisedAddress: address, advertisedPort: ingress };
  return {
    zoneIngress: { ...objectOf(zoneIngress), ...advertised, address, port: ingress },
    zoneEgress: { ...objectOf(zoneEgress), address, port: egress },
  };
}

async function tokenOf(client: ApiClient, name: string, signal: AbortSignal): Promise<string> {
  const deadline = Date.now() + TOKEN_MS;
  for (;;) {
    try {
      return await client.token('dataplane', { mesh: MESH, name, validFor: '2160h' });
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await delay(100, undefined, { signal });
    }
  }
}
