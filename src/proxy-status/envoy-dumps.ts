// The configuration, statistics and clusters of an Envoy, from its admin interface (rest-api 4). That is a socket
// in the folder of the proxy, so it is reached where the proxy and this control plane share a machine.
import { stat } from 'node:fs/promises';
import { within, type Clock } from '../base/clock.ts';
import { MeridianError } from '../base/errors.ts';
import { withoutKeyBytes } from '../base/hidden-keys.ts';
import { httpAnswer } from '../base/http-answer.ts';
import { http } from '../base/node-http.ts';
import { isOnline } from '../resource/online-status.ts';
import type { ResourceStore } from '../store/resource-store.ts';
import { adminSocket } from '../xds/bootstrap.ts';
import { proxyFeatures } from '../xds/proxy-features.ts';
import { objectOf, textOf } from '../resource/read-json.ts';
import { insightKey } from './proxy-keys.ts';

type DumpKind = 'configDump' | 'stats' | 'clusters';
type DumpOptions = { readonly json: boolean; readonly usedOnly: boolean; readonly includeEds: boolean };

/** Milliseconds for an answer. Global waits a little longer. */
const LIMIT_MS = 8_000;
/** The limit of an answer in bytes: it must fit into a message to global. */
const MAX_BYTES = 8 * 1024 * 1024;

/**
 * Asks the Envoy of a Dataplane.
 * @throws MeridianError `unavailable` that says why there is no answer
 */
export async function askEnvoy(
  { store, clock }: { readonly store: Pick<ResourceStore, 'get'>; readonly clock: Clock },
  at: { readonly mesh: string; readonly name: string },
  kind: DumpKind,
  options: DumpOptions,
): Promise<Uint8Array> {
  const insight = await store.get(insightKey(at));
  const whose = `Dataplane ${JSON.stringify(at.name)}`;
  if (insight === undefined || !isOnline(insight.spec))
    throw new MeridianError('unavailable', `no proxy of ${whose} is connected to this zone`);
  const metadata = objectOf(insight.spec['metadata']);
  const socket = proxyFeatures(metadata, at).adminSocket;
  if (socket === null) throw new MeridianError('unavailable', `the proxy of ${whose} has not reported its admin interface`);
  if (socket !== adminSocket(textOf(metadata['workdir'])) || !(await isSocket(socket)))
    throw new MeridianError(
      'unavailable',
      `the admin interface of the proxy of ${whose} is a socket on another machine: ${socket}; ask there with curl --unix-socket`,
    );
  const late = (): Error =>
    new MeridianError('unavailable', `the Envoy of ${whose} did not answer in ${String(LIMIT_MS / 1000)} s`);
  const stop = new AbortController();
  try {
    return await within(clock, LIMIT_MS, readOf(at, socket, pathOf(kind, options), stop.signal), late);
  } catch (cause) {
    if (cause instanceof MeridianError) throw cause;
    throw new MeridianError('unavailable', `the Envoy of ${whose} does not answer on ${socket}`, { cause });
  } finally {
    stop.abort();
  }
}

function pathOf(kind: DumpKind, { json, usedOnly, includeEds }: DumpOptions): string {
  const format = json ? 'format=json' : '';
  if (kind === 'configDump') return includeEds ? '/config_dump?include_eds' : '/config_dump';
  if (kind === 'clusters') return `/clusters?${format}`;
  return `/stats?${[...(usedOnly ? ['usedonly'] : []), format].filter((part) => part !== '').join('&')}`;
}

async function isSocket(path: string): Promise<boolean> {
  return await stat(path).then(
    (found) => found.isSocket(),
    () => false,
  );
}

/** Reads a page of the Envoy of a Dataplane: a proxy may have named the socket of another one. */
async function readOf(
  at: { mesh: string; name: string },
  socket: string,
  path: string,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const info = await read(socket, '/server_info', signal);
  const id = textOf(objectOf(objectOf(JSON.parse(Buffer.from(info).toString('utf8')) as unknown)['node'])['id']);
  if (id !== `${at.mesh}.${at.name}`)
    throw new MeridianError(
      'unavailable',
      `the proxy of Dataplane ${JSON.stringify(at.name)} names the admin interface of another Envoy: ${socket}`,
    );
  return withoutKeyBytes(await read(socket, path, signal));
}

async function read(socketPath: string, path: string, signal: AbortSignal): Promise<Uint8Array> {
  const { status, body } = await httpAnswer(http.request({ socketPath, path, agent: false, signal }), MAX_BYTES);
  if (body === null) throw new MeridianError('unavailable', `the answer of the Envoy has more than ${String(MAX_BYTES)} bytes`);
  if (status === 200) return body;
  throw new MeridianError('unavailable', `the Envoy answered with status ${String(status)}`);
}
