// The carts and the catalog of the shop in each zone: small applications, each behind an Envoy of `meridian dataplane run`.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { objectsOf, textOf } from '../../resource/read-json.ts';
import type { JsonObject } from '../../resource/types.ts';
import { ApiClient } from '../client/api-client.ts';
import type { ResourceDocument } from '../documents/read-files.ts';
import { startCart, startCatalog, type Application } from './applications.ts';
import { ChildProgram } from './child-program.ts';
import type { Fleet } from './fleet.ts';
import { findFreePorts } from './free-ports.ts';

const MESH = 'shop';
const CATALOG = 'catalog-1';
/** Dataplane → what the application behind it says. */
const CARTS: ReadonlyMap<string, string> = new Map([
  ['cart-1', 'v1'],
  ['cart-2', 'v2'],
]);
const NAMES = [...CARTS.keys(), CATALOG];
/** The signing key of Dataplane tokens comes from global. */
const TOKEN_MS = 30_000;

/** Where one zone of the shop takes requests. */
export type ShopZone = {
  readonly zone: string;
  /** Port on which the Envoy of the catalog takes requests for carts. */
  readonly carts: number;
  /** Port on which the Envoy of the catalog takes requests for the catalog. */
  readonly catalog: number;
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
    const [carts = 0, catalog = 0, ...inbounds] = await findFreePorts(NAMES.length + 1);
    const applications = new Map<string, Application>();
    for (const [name, version] of CARTS) applications.set(name, await startCart(version));
    applications.set(CATALOG, await startCatalog(carts));
    this.#applications.push(...applications.values());
    this.zones.push({ zone, carts, catalog });
    const ports = new Map([
      [CATALOG, catalog],
      ...[...CARTS.keys()].map((name, at): [string, number] => [name, inbounds[at] ?? 0]),
    ]);
    return documents.map((document) => {
      const { info, name, body } = document;
      const application = info.name === 'Dataplane' ? applications.get(name) : undefined;
      if (application === undefined) return document;
      const networking = here(body['networking'] as JsonObject, { port: ports.get(name) ?? 0, application, outbound: carts });
      return { ...document, body: { ...body, networking } };
    });
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

type Place = { readonly port: number; readonly application: Application; readonly outbound: number };

/** The networking of a Dataplane on this machine. */
function here({ inbound, outbound }: JsonObject, place: Place): JsonObject {
  const listed = objectsOf(outbound).map((one) => ({ ...one, port: place.outbound }));
  return {
    address: '127.0.0.1',
    inbound: objectsOf(inbound).map((one) => ({
      ...{ name: textOf(one['name']), protocol: textOf(one['protocol']) },
      ...{ port: place.port, serviceAddress: '127.0.0.1', servicePort: place.application.port },
    })),
    ...(listed.length > 0 && { outbound: listed }),
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
