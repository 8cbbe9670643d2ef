// One stream of names from a control plane (`meridian.proxy.v1.ProxyNames`), from its beginning to its end.
import { isIP } from 'node:net';
import { checkServerIdentity } from 'node:tls';
import { Client, credentials, Metadata, status, type ClientDuplexStream } from '@grpc/grpc-js';
import type { Clock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import { decodeDeltaResponse, encodeDeltaRequest, type DeltaRequest } from '../wire/kds-messages.ts';
import { decodeName, NAME_TYPE_URL, NAMES_METHOD } from '../wire/name-messages.ts';
import { encodeStruct } from '../wire/struct.ts';
import type { ControlPlaneAddress } from './control-plane-address.ts';
import type { NameRecord } from './name-records.ts';

export type NameStreamOptions = {
  readonly controlPlane: ControlPlaneAddress;
  /** PEM; `''` for the CAs that the system trusts. */
  readonly caCert: string;
  /** `''` for none. */
  readonly token: string;
  readonly mesh: string;
  /** Stored name of the Dataplane. */
  readonly name: string;
  /** Versions by hostname of the names that the launcher has. */
  readonly held: ReadonlyMap<string, string>;
  /** Gets each difference. */
  readonly take: (put: readonly (readonly [hostname: string, record: NameRecord])[], removed: readonly string[]) => void;
  readonly clock: Clock;
  readonly signal: AbortSignal;
};

/** @property isServed the control plane has sent names @property isUnknown it serves no names: it is of another kind, or older */
export type NameStreamEnd = { readonly reason: string; readonly isServed: boolean; readonly isUnknown: boolean };

/** Where the mesh stands beside `node.id`, which its dots would split. */
const MESH = 'meridian.mesh';
/** A control plane that sends nothing in this time is left. It waits itself for a Dataplane that does not exist yet. */
const FIRST_ANSWER_MS = 30_000;
/** Finds a control plane whose machine is gone. */
const PING_MS = 120_000;
/** Bytes of a message; a large table comes in several. */
const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;

/** Resolves with the end of the stream; never rejects. */
export async function followNames(options: NameStreamOptions): Promise<NameStreamEnd> {
  const { controlPlane, caCert, token, clock, signal } = options;
  const { host, port } = controlPlane;
  const client = new Client(
    `${host.includes(':') ? `[${host}]` : host}:${String(port)}`,
    credentials.createSsl(caCert === '' ? null : Buffer.from(caCert), null, null, {
      checkServerIdentity: (_name, certificate) => checkServerIdentity(host, certificate),
    }),
    {
      'grpc.keepalive_time_ms': PING_MS,
      'grpc.max_receive_message_length': MAX_MESSAGE_BYTES,
      'grpc.use_local_subchannel_pool': 1,
      // An IP address is no server name, and gRPC would send it as one.
      ...(isIP(host) !== 0 && { 'grpc.ssl_target_name_override': 'localhost' }),
    },
  );
  const metadata = new Metadata();
  if (token !== '') metadata.set('authorization', token);
  const same = (bytes: Buffer): Buffer => bytes;
  const call = client.makeBidiStreamRequest(NAMES_METHOD, same, same, metadata);
  const stop = (): void => call.cancel();
  signal.addEventListener('abort', stop);
  const late = clock.after(FIRST_ANSWER_MS, stop);
  let isServed = false;
  try {
    call.write(encodeDeltaRequest({ ...NOTHING, ...firstRequest(options) }));
    for await (const bytes of call as AsyncIterable<Buffer>) {
      late();
      isServed = true;
      take(bytes, call, options);
    }
    return { reason: 'the control plane ended the stream', isServed, isUnknown: false };
  } catch (error) {
    const { code, details } = error as { code?: unknown; details?: unknown };
    const reason = typeof details === 'string' && details !== '' ? details : messageOf(error);
    return { reason, isServed, isUnknown: code === status.UNIMPLEMENTED };
  } finally {
    late();
    signal.removeEventListener('abort', stop);
    client.close();
  }
}

const NOTHING: DeltaRequest = {
  ...{ node: { id: '' }, typeUrl: NAME_TYPE_URL, subscribe: [], unsubscribe: [] },
  ...{ initialResourceVersions: new Map(), responseNonce: '', errorDetail: null },
};

function firstRequest({ mesh, name, held }: NameStreamOptions): Pick<DeltaRequest, 'node' | 'initialResourceVersions'> {
  const metadata = encodeStruct({ [MESH]: mesh });
  return { node: { id: `${mesh}.${name}`, metadata }, initialResourceVersions: held };
}

/** Takes a difference, and says so. */
function take(bytes: Buffer, call: ClientDuplexStream<Buffer, Buffer>, { take: give }: NameStreamOptions): void {
  const { nonce: responseNonce, resources, removedResources } = decodeDeltaResponse(bytes);
  give(
    resources.map(({ name, version, resource }) => [name, { version, ...decodeName(resource) }] as const),
    removedResources,
  );
  call.write(encodeDeltaRequest({ ...NOTHING, responseNonce }));
}
