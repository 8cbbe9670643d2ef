// A proxy from its start to its end: its folder, its ports, its pipes, and the request for its bootstrap. Invariant: it leaves nothing
// behind but the file of names, also after an error.
import type { JsonObject } from '../resource/types.ts';
import { accessLogPipeIn, forwardAccessLogs } from './access-log-forwarder.ts';
import { bootstrapRequest } from './bootstrap-request.ts';
import { EnvoySupervisor, type ProxyContext, type SupervisorOptions } from './envoy-supervisor.ts';
import { readEnvoyBuild } from './envoy-version.ts';
import { FollowedNames, type FollowedNamesOptions } from './followed-names.ts';
import { FollowedToken } from './followed-token.ts';
import { adminListener, listenLocally, readyListener } from './local-server.ts';
import { dnsPortOf, openMeshDns, type MeshDns } from './mesh-dns.ts';
import { readsTokenFile, tokenSecret } from './token-file.ts';
import { hasIpv6, readCaFile, readDataplaneToken, systemCaFile, type TokenSource } from './trust.ts';
import { WorkFolder } from './work-folder.ts';

type ProxyOptions = Omit<SupervisorOptions, 'caCert' | 'hasTokenFile'> & {
  /** In Universal form; null for a Dataplane that the control plane has. */
  readonly dataplane: JsonObject | null;
  readonly caFile: string | undefined;
  readonly workFolder: string;
  /** 0 is any free one. */
  readonly readinessPort: number;
  /** Null: Envoy's admin pages are on no port. */
  readonly adminPort: number | null;
  /** 0: no DNS server. Null: one on port 15053 if the Dataplane says that its outbounds are redirected. */
  readonly dnsPort: number | null;
  /** What follows the names of the mesh, if it is loaded already; else it is loaded when it is needed. */
  readonly followStream?: FollowedNamesOptions['followStream'] | undefined;
};

type Ending = () => Promise<void>;
type CaCert = { readonly caCert: string };

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
  const endings: Ending[] = [async () => await folder.close()];
  try {
    const token = readsTokenFile(envoy.version) ? followedToken(options.token, folder, context) : null;
    const proxy = new EnvoySupervisor({ ...options, caCert, hasTokenFile: token !== null }, context, folder);
    const dns = await serveNames(proxy, { ...options, caCert }, folder, context, endings);
    const ports = await openPorts(proxy, dns, options, endings);
    log.info({ envoy: envoy.version, program, workDir: folder.path, ...ports, dnsPort: dns?.port }, 'starting');
    const forwarding = await forwardAccessLogs(accessLogPipeIn(folder.path, options), context);
    if (forwarding !== null) endings.push(forwarding.close);
    if (token !== null) endings.push(untilEnd((signal) => token.follow(signal)));
    const machine = { systemCaPath: await systemCaFile(), ipv6Enabled: hasIpv6(), forwardsLogs: forwarding !== null };
    const own = { envoy, caCert, readinessPort: ports.readinessPort, workDir: folder.path, drainMs: options.drainMs };
    await proxy.run(async () => {
      const shown = await (token?.read() ?? readDataplaneToken(options.token));
      const body = bootstrapRequest({ mesh, name, dataplane, token: shown, ...machine, ...own });
      return { addresses: controlPlanes, ca: caCert, body };
    });
  } finally {
    for (const end of endings.toReversed()) await end();
  }
}

/**
 * Listens on the ports of the launcher.
 * @param endings gets the end of what listens, also before an error
 */
async function openPorts(
  proxy: EnvoySupervisor,
  dns: MeshDns | null,
  options: Pick<ProxyOptions, 'readinessPort' | 'adminPort'>,
  endings: Ending[],
): Promise<{ readonly readinessPort: number; readonly adminPort?: number }> {
  const whyNotReady = async (): Promise<string | null> => (await proxy.whyNotReady()) ?? dns?.whyNotReady() ?? null;
  const ready = await listenLocally('--readiness-port', options.readinessPort, readyListener(whyNotReady));
  endings.push(ready.close);
  if (options.adminPort === null) return { readinessPort: ready.port };
  const pages = adminListener(() => proxy.admin, dns === null ? {} : { '/dns': dns.page });
  const admin = await listenLocally('--admin-port', options.adminPort, pages);
  endings.push(admin.close);
  return { readinessPort: ready.port, adminPort: admin.port };
}

/**
 * Follows the names of the proxy, and answers DNS queries with them.
 * @param endings gets the end of both
 * @returns null for a proxy without a DNS server
 */
async function serveNames(
  proxy: EnvoySupervisor,
  options: Pick<ProxyOptions, 'controlPlanes' | 'mesh' | 'storedName' | 'token' | 'dataplane' | 'dnsPort' | 'followStream'> &
    CaCert,
  folder: WorkFolder,
  context: ProxyContext,
  endings: Ending[],
): Promise<MeshDns | null> {
  const { controlPlanes, caCert, mesh, storedName: name, dataplane, followStream } = options;
  const port = dnsPortOf(options.dnsPort, dataplane);
  if (port === null) return null;
  const token = async (): Promise<string> => await readDataplaneToken(options.token);
  const own = { token, admin: () => proxy.admin, file: folder.namesFile };
  const names = new FollowedNames({
    controlPlanes,
    caCert,
    mesh,
    name,
    ...own,
    ...context,
    ...(followStream && { followStream }),
  });
  await names.open();
  const dns = await openMeshDns(port, names, dataplane, context);
  endings.push(
    dns.close,
    untilEnd((signal) => names.follow(signal)),
  );
  return dns;
}

/** Runs a task until the returned function is called. */
function untilEnd(task: (signal: AbortSignal) => Promise<void>): Ending {
  const over = new AbortController();
  const ended = task(over.signal);
  return async () => {
    over.abort();
    await ended;
  };
}

/** The token of a file, which Envoy reads in the work folder; null for a token without a file. */
function followedToken(source: TokenSource, folder: WorkFolder, { clock, log }: ProxyContext): FollowedToken | null {
  if (source.file === undefined) return null;
  const read = async (): Promise<string> => await readDataplaneToken(source);
  const give = async (token: string): Promise<void> => await folder.writeToken(tokenSecret(token));
  return new FollowedToken({ file: source.file, read, give, clock, log });
}
