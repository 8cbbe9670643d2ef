// A proxy from its start to its end: its folder, its ports, its pipes, and the request for its bootstrap. Invariant: it leaves nothing
// behind, also after an error.
import type { Logger } from '../base/log.ts';
import type { JsonObject } from '../resource/types.ts';
import { accessLogPipeIn, forwardAccessLogs } from './access-log-forwarder.ts';
import type { BootstrapQuestion } from './ask-bootstrap.ts';
import { bootstrapRequest } from './bootstrap-request.ts';
import { EnvoySupervisor, type ProxyContext, type SupervisorOptions } from './envoy-supervisor.ts';
import { readEnvoyBuild } from './envoy-version.ts';
import { adminListener, listenLocally, readyListener, type LocalServer } from './local-server.ts';
import { followTokenFile, readsTokenFile, tokenSecret } from './token-file.ts';
import { hasIpv6, readCaFile, readDataplaneToken, systemCaFile, type TokenSource } from './trust.ts';
import { WorkFolder } from './work-folder.ts';

export type ProxyOptions = Omit<SupervisorOptions, 'caCert' | 'readsTokenFile'> & {
  /** In Universal form; null for a Dataplane that the control plane has. */
  readonly dataplane: JsonObject | null;
  readonly caFile: string | undefined;
  readonly workFolder: string;
  /** 0 is any free one. */
  readonly readinessPort: number;
  /** Null: Envoy's admin pages are on no port. */
  readonly adminPort: number | null;
};

/**
 * Runs a proxy until `stop` aborts and it has drained.
 * @throws MeridianError for what a person must correct before it can start
 */
export async function runProxy(options: ProxyOptions, context: ProxyContext): Promise<void> {
  const { log } = context;
  const { mesh, name, dataplane, controlPlanes, program } = options;
  const envoy = await readEnvoyBuild(program);
  const caCert = await readCaFile(options.caFile);
  const folder = await WorkFolder.open(options.workFolder, context);
  const proxy = new EnvoySupervisor({ ...options, caCert, readsTokenFile: readsTokenFile(envoy.version) }, context, folder);
  const servers: LocalServer[] = [];
  const endings: (() => Promise<void>)[] = [];
  try {
    const ports = await openPorts(proxy, options, servers);
    log.info({ envoy: envoy.version, program, workDir: folder.path, ...ports }, 'starting');
    const pipe = accessLogPipeIn(folder.path, options);
    const forwarding = await forwardAccessLogs(pipe, context);
    if (forwarding !== null) endings.push(forwarding.close);
    const tokenFile = readsTokenFile(envoy.version) ? options.token.file : undefined;
    const machine = { systemCaPath: await systemCaFile(), ipv6Enabled: hasIpv6(), forwardsLogs: forwarding !== null };
    const question = async (): Promise<BootstrapQuestion> => {
      const token = await readDataplaneToken(options.token);
      if (tokenFile !== undefined) await folder.writeToken(tokenSecret(token));
      const own = { envoy, caCert, token, readinessPort: ports.readinessPort, workDir: folder.path };
      return { addresses: controlPlanes, ca: caCert, body: bootstrapRequest({ mesh, name, dataplane, ...machine, ...own }) };
    };
    if (tokenFile !== undefined) endings.push(keepTokenCurrent(tokenFile, options.token, folder, log));
    await proxy.run(question);
  } finally {
    for (const server of servers) await server.close();
    for (const end of endings) await end();
    await folder.close();
  }
}

/**
 * Listens on the ports of the launcher.
 * @param servers gets what listens, also before an error
 */
async function openPorts(
  proxy: EnvoySupervisor,
  options: Pick<ProxyOptions, 'readinessPort' | 'adminPort'>,
  servers: LocalServer[],
): Promise<{ readonly readinessPort: number; readonly adminPort?: number }> {
  const ready = await listenLocally('--readiness-port', options.readinessPort, readyListener(proxy.whyNotReady));
  servers.push(ready);
  if (options.adminPort === null) return { readinessPort: ready.port };
  const pages = adminListener(() => proxy.admin);
  const admin = await listenLocally('--admin-port', options.adminPort, pages);
  servers.push(admin);
  return { readinessPort: ready.port, adminPort: admin.port };
}

/** Writes each new token for the Envoy. @returns what ends it; never rejects */
function keepTokenCurrent(file: string, source: TokenSource, folder: WorkFolder, log: Logger): () => Promise<void> {
  const over = new AbortController();
  const changed = async (token: string): Promise<void> => {
    await folder.writeToken(tokenSecret(token));
    log.info('there is a new token; the next stream shows it');
  };
  const following = followTokenFile({ file, log, read: () => readDataplaneToken(source), changed }, over.signal);
  return async () => (over.abort(), await following.catch(() => undefined));
}
