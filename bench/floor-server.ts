// The floor: the least that a gRPC server in this language can do. It holds the bytes of the whole state, made beforehand, and
// an HTTP request reports a change, and it then writes prepared bytes to every stream. No store, no filter, no state of zones.
import {
  Metadata,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServerUnaryCall,
  type sendUnaryData,
} from '@grpc/grpc-js';
import { takeEach } from '../src/kds/protocol/bundles.ts';
import { feature } from '../src/kds/protocol/features.ts';
import { globalSendRules } from '../src/kds/protocol/rules.ts';
import { globalService, syncService } from '../src/kds/protocol/services.ts';
import { encodeKumaResource, wireVersion } from '../src/resource/codec.ts';
import { typeOf } from '../src/resource/type-registry.ts';
import { toBuffer } from '../src/wire/fields.ts';
import { encodeHealthCheckResponse } from '../src/wire/global-service-messages.ts';
import { encodeDeltaResponse, encodeResourceEntry } from '../src/wire/kds-messages.ts';
import { takeCommands } from './commands.ts';
import { listenForChange, listenGrpc } from './floor.ts';
import { policy, TYPE } from './policies.ts';
import { scanRequest } from '../test/fakes/response-scan.ts';

export type FloorCommand = { readonly policies: number };
export type FloorReport = { readonly kdsAddress: string; readonly apiPort: number };

type Call = ServerDuplexStream<Buffer, Buffer>;

const CHUNK_BYTES = 1024 * 1024;
const { map } = globalSendRules();
const streams = new Set<Call>();

function entryOf(index: number, revision: number): Buffer {
  const resource = map(policy(index, revision), typeOf(TYPE));
  const kumaResource = encodeKumaResource(typeOf(TYPE), resource);
  return encodeResourceEntry({ name: `${resource.name}.${resource.mesh}`, version: wireVersion(kumaResource), kumaResource });
}

function responseOf(type: string, nonce: string, entries: readonly Buffer[]): Buffer {
  return encodeDeltaResponse({ typeUrl: type, nonce, controlPlane: 'global', entries, removed: [] });
}

/** The state as responses of about 1 MiB, with their number as nonce: an acknowledgement asks for the next. */
function stateOf(policies: number): Buffer[] {
  const chunks: Buffer[][] = [[]];
  let bytes = 0;
  for (let index = 0; index < policies; index += 1) {
    const entry = entryOf(index, 0);
    if (bytes >= CHUNK_BYTES) {
      chunks.push([]);
      bytes = 0;
    }
    chunks.at(-1)?.push(entry);
    bytes += entry.length;
  }
  return chunks.map((entries, at) => responseOf(TYPE, String(at + 1), entries));
}

function serveSync(state: readonly Buffer[]): (call: Call) => void {
  const empty = new Map<string, Buffer>();
  return (call) => {
    greet(call);
    streams.add(call);
    call.on('close', () => streams.delete(call));
    const take = (bytes: Buffer): void => {
      const { type, nonce } = scanRequest(bytes);
      if (type === TYPE) {
        const next = nonce === 'change' ? undefined : state[Number(nonce)];
        if (next !== undefined) call.write(next);
      } else if (nonce === '') {
        const response = empty.get(type) ?? responseOf(type, 'empty', []);
        empty.set(type, response);
        call.write(response);
      }
    };
    call.on('data', (bytes: Buffer) => void takeEach(bytes, (message) => take(toBuffer(message))));
    call.on('end', () => call.end());
  };
}

function greet(call: { sendMetadata: (metadata: Metadata) => void }): void {
  const metadata = new Metadata();
  metadata.set('features', feature.meridian);
  call.sendMetadata(metadata);
}

function drain(call: Call): void {
  greet(call);
  call.resume();
  call.on('end', () => call.end());
}

async function start({ policies }: FloorCommand): Promise<FloorReport> {
  const change = responseOf(TYPE, 'change', [entryOf(0, 1)]);
  const server = new Server();
  server.addService(syncService, { globalToZoneSync: serveSync(stateOf(policies)), zoneToGlobalSync: drain });
  server.addService(globalService, {
    streamXDSConfigs: drain,
    streamStats: drain,
    streamClusters: drain,
    healthCheck: (call: ServerUnaryCall<Buffer, Buffer>, answer: sendUnaryData<Buffer>) => {
      greet(call);
      answer(null, encodeHealthCheckResponse({ intervalMs: 0 }));
    },
  });
  const apiPort = await listenForChange(streams, change);
  return { kdsAddress: `127.0.0.1:${String(await listenGrpc(server, ServerCredentials.createInsecure()))}`, apiPort };
}

takeCommands(start);
