// The control planes of the demo: a global and two zones with their own CA, in a temporary folder.
import { execFile } from 'node:child_process';
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { MeridianError } from '../../base/errors.ts';
import { createAuthority } from '../../base/self-signed.ts';
import { ApiClient } from '../client/api-client.ts';
import { inheritedEnv, MAIN } from './child-program.ts';
import { ControlPlaneProcess } from './control-plane-process.ts';
import { findFreePorts, isFree } from './free-ports.ts';

export const ZONES = ['east', 'west'] as const;

/** API, diagnostics and the third: KDS on global, and the port for proxies in a zone (D30). */
const FIXED: Record<string, readonly number[]> = {
  global: [5681, 5680, 5685],
  east: [5691, 5690, 5688],
  west: [5701, 5700, 5698],
};

type ProxyPortAddress = {
  /** `https://localhost:PORT` */
  readonly url: string;
  /** File of the certificate that it shows. */
  readonly caFile: string;
};

export type Fleet = {
  readonly members: readonly ControlPlaneProcess[];
  /** The folder of all files of the demo. */
  readonly folder: string;
  /** The addresses at which proxies reach the zones, by zone. */
  readonly proxyPorts: ReadonlyMap<string, ProxyPortAddress>;
  /** Rejects when a member dies. */
  readonly broken: Promise<never>;
  /** Stops every member and removes the folder. */
  readonly stop: () => Promise<void>;
};

/** Starts all three and waits until they are ready. A failure leaves nothing behind. */
export async function startFleet({ freePorts, signal }: { freePorts: boolean; signal: AbortSignal }): Promise<Fleet> {
  const ports = freePorts ? await findPorts() : await requirePorts();
  const folder = await mkdtemp(join(tmpdir(), 'meridian-demo-'));
  const members: ControlPlaneProcess[] = [];
  const stop = async (): Promise<void> => {
    await Promise.all(members.map((member) => member.stop()));
    await rm(folder, { recursive: true, force: true });
  };
  try {
    const [files] = await Promise.all([writeCertificates(folder), makeStores(folder)]);
    const [apiPort = 0, diagnosticsPort = 0, kdsPort = 0] = ports['global'] ?? [];
    const globalEnv = {
      MERIDIAN_MULTIZONE_GLOBAL_KDS_GRPC_PORT: String(kdsPort),
      MERIDIAN_MULTIZONE_GLOBAL_KDS_TLS_CERT_FILE: files.cert,
      MERIDIAN_MULTIZONE_GLOBAL_KDS_TLS_KEY_FILE: files.key,
    };
    members.push(
      new ControlPlaneProcess({ name: 'global', command: 'global', apiPort, diagnosticsPort, folder, env: globalEnv }),
    );
    for (const zone of ZONES) {
      const [zoneApi = 0, zoneDiagnostics = 0, proxyPort = 0] = ports[zone] ?? [];
      const env = {
        MERIDIAN_MULTIZONE_ZONE_NAME: zone,
        MERIDIAN_DP_SERVER_INTERFACE: 'localhost',
        MERIDIAN_DP_SERVER_PORT: String(proxyPort),
        MERIDIAN_MULTIZONE_ZONE_GLOBAL_ADDRESS: `grpcs://127.0.0.1:${String(kdsPort)}`,
        MERIDIAN_MULTIZONE_ZONE_KDS_ROOT_CA_FILE: files.ca,
        MERIDIAN_MULTIZONE_ZONE_KDS_AUTH_TOKEN_FILE: tokenFile(folder, zone),
      };
      // A zone starts only if the files of its configuration exist. It waits for their content.
      await writeFile(tokenFile(folder, zone), '', { mode: 0o600 });
      members.push(
        new ControlPlaneProcess({ name: zone, command: 'zone', apiPort: zoneApi, diagnosticsPort: zoneDiagnostics, folder, env }),
      );
    }
    const broken = Promise.race(members.map((member) => member.died()));
    broken.catch(() => undefined);
    await Promise.race([
      broken,
      Promise.all([...members.map((member) => member.ready(signal)), issueTokens(members[0], folder, signal)]),
    ]);
    const proxyPorts = new Map(ZONES.map((zone) => [zone, proxyPortOf(zone, ports[zone]?.[2] ?? 0, folder)]));
    return { members, folder, proxyPorts, broken, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function proxyPortOf(zone: string, port: number, folder: string): ProxyPortAddress {
  return { url: `https://localhost:${String(port)}`, caFile: join(folder, zone, 'dp-server/cert.pem') };
}

/** A new PostgreSQL costs seconds of CPU: one is created, and the others are copies of it. */
async function makeStores(folder: string): Promise<void> {
  const [first, ...others] = ['global', ...ZONES].map((name) => join(folder, name, 'pg')) as [string, ...string[]];
  await promisify(execFile)(process.execPath, [MAIN, 'migrate', 'up', '--store-path', first], { env: inheritedEnv() });
  for (const other of others) await cp(first, other, { recursive: true });
}

/** Writes the tokens into the files for which the zones wait. */
async function issueTokens(global: ControlPlaneProcess | undefined, folder: string, signal: AbortSignal): Promise<void> {
  if (global === undefined) return;
  await global.ready(signal);
  const client = new ApiClient(global.api);
  for (const zone of ZONES) {
    // Longer than any demo runs, and longer than the warning period of `inspect zones`.
    const token = await client.token('zone', { zone, scope: ['cp'], validFor: '2160h' });
    await writeFile(tokenFile(folder, zone), token, { mode: 0o600 });
  }
}

function tokenFile(folder: string, zone: string): string {
  return join(folder, `${zone}.token`);
}

async function writeCertificates(folder: string): Promise<{ ca: string; cert: string; key: string }> {
  const authority = await createAuthority('meridian-demo', new Date());
  const server = await authority.issue({ hosts: ['localhost', '127.0.0.1'] });
  const files = { ca: join(folder, 'ca.pem'), cert: join(folder, 'kds.pem'), key: join(folder, 'kds.key') };
  await writeFile(files.ca, authority.certPem);
  await writeFile(files.cert, server.certPem);
  await writeFile(files.key, server.keyPem, { mode: 0o600 });
  return files;
}

async function requirePorts(): Promise<typeof FIXED> {
  for (const [name, ports] of Object.entries(FIXED)) {
    for (const port of ports) {
      if (await isFree(port)) continue;
      throw new MeridianError(
        'config',
        `port ${String(port)} is in use, and ${name} of the demo needs it: stop the program that uses it, or run \`npm start -- --once\`, which takes free ports`,
      );
    }
  }
  return FIXED;
}

async function findPorts(): Promise<typeof FIXED> {
  const ports: Record<string, readonly number[]> = {};
  for (const [name, fixed] of Object.entries(FIXED)) ports[name] = await findFreePorts(fixed.length);
  return ports;
}
