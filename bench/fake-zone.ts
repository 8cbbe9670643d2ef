// A zone that holds no database: it joins as a Meridian zone does, answers every response as its manners are, and counts
// MeshTimeouts.
import { Client, Metadata, credentials, type ClientDuplexStream } from '@grpc/grpc-js';
import { zoneHeaderFeatures } from '../src/kds/features.ts';
import { nodeMetadata } from '../src/kds/node.ts';
import { zoneConsumes } from '../src/kds/rules.ts';
import { globalService, syncService } from '../src/kds/services.ts';
import { encodeHealthCheckRequest } from '../src/wire/global-service-messages.ts';
import { encodeDeltaRequest, encodeDeltaResponse } from '../src/wire/kds-messages.ts';
import { nowMs } from './measure.ts';
import { TYPE } from './policies.ts';
import { scanRequest, scanResponse } from './response-scan.ts';

type Stream = ClientDuplexStream<Buffer, Buffer>;

const NODE = { version: 'bench', instanceId: 'bench', config: '{"store":{"type":"postgres"}}' };
const MAX_MESSAGE_BYTES = 10 * 1024 * 1024;

/**
 * What a zone does with a response: `good` acknowledges it, `silent` says nothing, `refusing` refuses it, `deaf` does not even
 * read it. A `restless` one acknowledges it, and leaves and joins again and again.
 */
export type Manners = 'good' | 'silent' | 'refusing' | 'deaf' | 'restless';

const REFUSAL = { code: 3, message: 'this zone refuses everything', details: [] };

export class FakeZone {
  readonly #name: string;
  readonly #manners: Manners;
  readonly #client: Client;
  readonly #onReceived: (at: number) => void;
  readonly #onFailed: (reason: string) => void;
  readonly #answered = new Set<string>();
  #policies = 0;

  constructor(
    { name, address, manners }: { readonly name: string; readonly address: string; readonly manners: Manners },
    onReceived: (at: number) => void,
    onFailed: (reason: string) => void,
  ) {
    this.#name = name;
    this.#manners = manners;
    this.#onReceived = onReceived;
    this.#onFailed = onFailed;
    this.#client = new Client(address, credentials.createInsecure(), {
      'grpc.max_receive_message_length': MAX_MESSAGE_BYTES,
      'grpc.keepalive_time_ms': 20_000,
      'grpc.use_local_subchannel_pool': 1,
    });
  }

  /** MeshTimeouts received so far, a changed one again; −1 until every type has been answered once. */
  get received(): number {
    return this.#answered.size < zoneConsumes.length ? -1 : this.#policies;
  }

  /** Opens the six calls of a zone. */
  join(): void {
    const { path, requestSerialize, responseDeserialize } = globalService.healthCheck;
    this.#client.makeUnaryRequest(
      path,
      requestSerialize,
      responseDeserialize,
      encodeHealthCheckRequest(),
      this.#headers(),
      (error) => {
        if (error !== null) this.#onFailed(error.message);
        else this.#openStreams();
      },
    );
  }

  #openStreams(): void {
    const down = this.#open(syncService.globalToZoneSync.path);
    if (this.#manners !== 'deaf') down.on('data', (bytes: Buffer) => this.#receive(down, bytes));
    for (const { name } of zoneConsumes) this.#request(down, name, '');
    const up = this.#open(syncService.zoneToGlobalSync.path);
    up.on('data', (bytes: Buffer) => this.#answer(up, bytes));
    for (const { path } of [globalService.streamXDSConfigs, globalService.streamStats, globalService.streamClusters])
      this.#open(path).resume();
  }

  #receive(stream: Stream, bytes: Buffer): void {
    const at = nowMs();
    const { type, nonce, resources } = scanResponse(bytes);
    this.#answered.add(type);
    if (type === TYPE) this.#policies += resources;
    this.#onReceived(at);
    if (this.#manners !== 'silent') this.#request(stream, type, nonce);
  }

  /** Leaves without a word. */
  leave(): void {
    this.#client.close();
  }

  /** A subscription where the nonce is empty, otherwise an answer. */
  #request(stream: Stream, type: string, nonce: string): void {
    const isFirst = nonce === '';
    stream.write(
      encodeDeltaRequest({
        node: { id: this.#name, ...(isFirst && { metadata: nodeMetadata(NODE, true) }) },
        typeUrl: type,
        subscribe: isFirst ? ['*'] : [],
        unsubscribe: [],
        initialResourceVersions: new Map(),
        responseNonce: nonce,
        errorDetail: this.#manners === 'refusing' && !isFirst ? REFUSAL : null,
      }),
    );
  }

  /** The zone has nothing of its own: each subscription of the global gets one empty response. */
  #answer(stream: Stream, bytes: Buffer): void {
    const { type, nonce } = scanRequest(bytes);
    if (nonce === '')
      stream.write(encodeDeltaResponse({ typeUrl: type, nonce: type, controlPlane: this.#name, entries: [], removed: [] }));
  }

  #open(path: string): Stream {
    const { requestSerialize, responseDeserialize } = syncService.globalToZoneSync;
    const stream = this.#client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize, this.#headers());
    stream.on('error', (error) => this.#onFailed(error.message));
    stream.on('end', () => this.#onFailed('the server ended a stream'));
    return stream;
  }

  #headers(): Metadata {
    const metadata = new Metadata();
    metadata.set('client-id', this.#name);
    metadata.set('kds-version', 'v3');
    metadata.set('version', NODE.version);
    for (const name of zoneHeaderFeatures) metadata.add('features', name);
    return metadata;
  }
}
