// The floor: a gRPC server that holds the encoded resources of a proxy, made beforehand, and sends them to every stream that asks.
// A request over HTTP makes it write one prepared response to every stream. It knows no policy, no store and no state of proxies.
import { Server, ServerCredentials, type ServerDuplexStream } from '@grpc/grpc-js';
import { XDS_MESSAGES } from '../src/ads/encode-resources.ts';
import type { XdsType } from '../src/ads/session-messages.ts';
import { systemClock } from '../src/base/clock.ts';
import { createSelfSigned } from '../src/base/self-signed.ts';
import { adsService } from '../src/proxy-port/grpc-services.ts';
import { TYPE_URL_PREFIX } from '../src/wire/any.ts';
import { decodeDeltaRequest, encodeDeltaResponse, encodeResourceEntry } from '../src/wire/kds-messages.ts';
import { takeCommands } from './commands.ts';
import { listenForChange, listenGrpc } from './floor.ts';

/** Base64 of what one proxy holds. */
export type FloorState = readonly {
  readonly type: XdsType;
  readonly name: string;
  readonly version: string;
  readonly bytes: string;
}[];
export type FloorProxiesCommand = {
  readonly state: FloorState;
  readonly changed: { readonly type: XdsType; readonly name: string };
};
export type FloorProxiesReport = { readonly port: number; readonly apiPort: number };

type Call = ServerDuplexStream<Buffer, Buffer>;

async function start({ state, changed }: FloorProxiesCommand): Promise<FloorProxiesReport> {
  const responseOf = (type: XdsType, nonce: string, names: (name: string) => boolean): Buffer =>
    encodeDeltaResponse({
      ...{ typeUrl: TYPE_URL_PREFIX + XDS_MESSAGES[type], nonce, controlPlane: 'floor', removed: [] },
      entries: state
        .filter((one) => one.type === type && names(one.name))
        .map(({ name, version, bytes }) =>
          encodeResourceEntry({
            ...{ name, version, typeUrl: TYPE_URL_PREFIX + XDS_MESSAGES[type] },
            kumaResource: Buffer.from(bytes, 'base64'),
          }),
        ),
    });
  const types = [...new Set(state.map(({ type }) => type))];
  const all = new Map(types.map((type) => [TYPE_URL_PREFIX + XDS_MESSAGES[type], responseOf(type, 'all', () => true)]));
  const change = responseOf(changed.type, 'change', (name) => name === changed.name);
  const streams = new Set<Call>();
  const { certPem, keyPem } = await createSelfSigned('server', ['localhost'], systemClock.now());
  const server = new Server({ 'grpc.max_send_message_length': -1 });
  server.addService(adsService, {
    deltaAggregatedResources: (call: Call) => {
      streams.add(call);
      const answered = new Set<string>();
      call.on('close', () => streams.delete(call));
      call.on('data', (bytes: Buffer) => {
        const { typeUrl } = decodeDeltaRequest(bytes);
        const response = all.get(typeUrl);
        if (response === undefined || answered.has(typeUrl)) return;
        answered.add(typeUrl);
        call.write(response);
      });
      call.on('end', () => call.end());
    },
    streamAggregatedResources: (call: Call) => call.end(),
  });
  const apiPort = await listenForChange(streams, change);
  const pair = { cert_chain: Buffer.from(certPem), private_key: Buffer.from(keyPem) };
  return { port: await listenGrpc(server, ServerCredentials.createSsl(null, [pair])), apiPort };
}

takeCommands(start);
