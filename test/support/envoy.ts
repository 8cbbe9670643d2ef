// A real Envoy for tests: whether it takes configurations (`--mode validate`). One start checks many of them,
// because a start costs more than a configuration does.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSelfSigned } from '../../src/base/self-signed.ts';
import { isObject, objectOf, objectsOf, textOf } from '../../src/resource/read-json.ts';
import type { Json, JsonObject } from '../../src/resource/types.ts';
import { KeyPair } from '../../src/xds/key-pair.ts';
import type { ProxyConfig } from '../../src/xds/proxy-context.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** Path of the Envoy that the project `envoy` runs. */
    envoy: string;
  }
}

/** A configuration with a name of its own: lower-case letters, digits and hyphens. */
export type NamedConfig = { readonly name: string; readonly config: Resources };
/** The certificate of every proxy. */
const OWN = await createSelfSigned('server', ['proxy'], new Date());

type Resources = Pick<ProxyConfig, 'clusters' | 'assignments' | 'listeners' | 'routes'> & Partial<Pick<ProxyConfig, 'secrets'>>;

/** A configuration that Envoy refuses, with its reason. */
export type Refusal = { readonly name: string; readonly reason: string };

/** Asks Envoy whether it takes each configuration. Those that it refuses are found by halving. */
export async function validate(envoy: string, configs: readonly NamedConfig[]): Promise<Refusal[]> {
  if (configs.length === 0) return [];
  const reason = await refusalOf(envoy, configs);
  if (reason === null) return [];
  const [only] = configs;
  if (configs.length === 1 && only !== undefined) return [{ name: only.name, reason }];
  const half = Math.ceil(configs.length / 2);
  return [...(await validate(envoy, configs.slice(0, half))), ...(await validate(envoy, configs.slice(half)))];
}

/** Envoy writes to a file, because a configuration may open /dev/stdout, which a socket cannot be. */
async function refusalOf(envoy: string, configs: readonly NamedConfig[]): Promise<string | null> {
  const folder = await mkdtemp(join(tmpdir(), 'meridian-envoy-'));
  const output = join(folder, 'output');
  const file = await open(output, 'w');
  try {
    const bootstrap = join(folder, 'bootstrap.json');
    await writeFile(bootstrap, JSON.stringify(staticBootstrap(configs)));
    const child = spawn(envoy, ['--mode', 'validate', '-c', bootstrap, '--log-level', 'error', '--concurrency', '1'], {
      stdio: ['ignore', file.fd, file.fd],
    });
    const [code] = (await once(child, 'exit')) as [number | null];
    return code === 0 ? null : (await readFile(output, 'utf8')).trim() || `exit code ${String(code)}`;
  } finally {
    await file.close();
    await rm(folder, { recursive: true });
  }
}

/** All configurations in one: names get a prefix, addresses become addresses of their own. */
export function staticBootstrap(configs: readonly NamedConfig[]): JsonObject {
  const parts = configs.map(({ name, config }, at) => staticParts(`${name}/`, config, at));
  return {
    node: { id: 'test', cluster: 'test' },
    defaultRegexEngine: {
      name: 'envoy.regex_engines.google_re2',
      typedConfig: { '@type': 'type.googleapis.com/envoy.extensions.regex_engines.v3.GoogleRE2' },
    },
    layeredRuntime: { layers: [{ name: 'test', staticLayer: { 're2.max_program_size.error_level': 4_294_967_295 } }] },
    staticResources: {
      clusters: parts.flatMap(({ clusters }) => clusters),
      listeners: parts.flatMap(({ listeners }) => listeners),
      secrets: staticSecrets(configs),
    },
  };
}

/** The secrets to which configurations refer, each name once: all meshes of the tests trust the same. */
function staticSecrets(configs: readonly NamedConfig[]): Json[] {
  const trusts = configs.flatMap(({ config }) => [...(config.secrets ?? [])]);
  const names = JSON.stringify(configs.map(({ config }) => [...config.clusters.values(), ...config.listeners.values()])).matchAll(
    /"tlsCertificateSdsSecretConfigs":\[\{"name":"([^"]+)"/g,
  );
  const identities = [...names].map(([, name = '']) => [name, new KeyPair(OWN).toSecret(name)] as const);
  return [...new Map([...trusts, ...identities]).values()];
}

function staticParts(
  prefix: string,
  { clusters, assignments, listeners, routes }: Resources,
  at: number,
): { clusters: Json[]; listeners: Json[] } {
  const names = new Set(clusters.keys());
  const addresses = new Map<string, string>();
  const ownAddress = (given: string): string => {
    const known = addresses.get(given);
    if (known !== undefined) return known;
    const made = `127.${String(1 + (at >> 8))}.${String(at & 255)}.${String(addresses.size + 1)}`;
    addresses.set(given, made);
    return made;
  };
  const renamed = (value: Json): Json => {
    if (Array.isArray(value)) return value.map(renamed);
    if (!isObject(value)) return typeof value === 'string' && names.has(value) ? prefix + value : value;
    const { sdsConfig: _sds, ...rest } = value;
    const copy = Object.fromEntries(Object.entries(rest).map(([key, member]) => [key, renamed(member)]));
    // The files and pipes of a proxy are not on this machine.
    if (isObject(copy['trustedCa']) && copy['trustedCa']['filename'] !== undefined)
      return { ...copy, trustedCa: { inlineString: OWN.certPem } };
    return OPENS_FILES.test(textOf(copy['@type'])) ? { ...copy, [fileKey(copy)]: '/dev/null' } : copy;
  };
  return {
    clusters: [...clusters].map(([name, cluster]) => renamed(inlineEndpoints(cluster, assignments.get(name)))),
    listeners: [...listeners.values()].map((listener) => {
      const { address, ...rest } = inlineRoutes(listener, routes);
      const socket = objectOf(objectOf(address)['socketAddress']);
      const own = isObject(objectOf(address)['socketAddress'])
        ? { socketAddress: { ...socket, address: ownAddress(textOf(socket['address'])) } }
        : { pipe: { path: `/tmp/never-bound/${String(at)}/${textOf(rest['name'])}` } };
      const named = { ...rest, name: prefix + textOf(rest['name']) };
      return { ...objectOf(renamed(named)), address: own };
    }),
  };
}

const OPENS_FILES = /\.(FileAccessLog|HealthCheckEventFileSink)$/;

function fileKey(sink: JsonObject): string {
  return 'eventLogPath' in sink ? 'eventLogPath' : 'path';
}

/** Static clusters have their endpoints inside. */
function inlineEndpoints(cluster: JsonObject, assignment: JsonObject | undefined): JsonObject {
  if (cluster['type'] !== 'EDS') return cluster;
  const { edsClusterConfig: _eds, ...rest } = cluster;
  return { ...rest, type: 'STATIC', ...(assignment !== undefined && { loadAssignment: assignment }) };
}

/** Static listeners have their routes inside. */
function inlineRoutes(listener: JsonObject, routes: ReadonlyMap<string, JsonObject>): JsonObject {
  const filterChains = objectsOf(listener['filterChains']).map((chain) => ({
    ...chain,
    filters: objectsOf(chain['filters']).map((filter) => {
      const { rds, ...config } = objectOf(filter['typedConfig']);
      const route = routes.get(textOf(objectOf(rds)['routeConfigName']));
      return rds === undefined ? filter : { ...filter, typedConfig: { ...config, routeConfig: route ?? {} } };
    }),
  }));
  return { ...listener, filterChains };
}
