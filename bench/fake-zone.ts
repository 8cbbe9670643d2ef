// A zone that holds no database: it joins as a Meridian zone does, answers every response as its manners are, and counts
// MeshTimeouts. Until it has everything it connects again when its connection fails.
import { connect } from 'node:net';
import { reconnectPauseMs } from '../src/kds/client/client.ts';
import { zoneHeaderFeatures } from '../src/kds/protocol/features.ts';
import { nodeMetadata } from '../src/kds/protocol/node.ts';
import { zoneConsumes } from '../src/kds/protocol/rules.ts';
import { globalService, syncService } from '../src/kds/protocol/services.ts';
import { encodeHealthCheckRequest } from '../src/wire/global-service-messages.ts';
import { decodeInStep, isInStep } from '../src/wire/in-step.ts';
import { encodeDeltaRequest } from '../src/wire/kds-messages.ts';
import { openBundled, type BundledCall } from './bundled-call.ts';
import { GrpcConnection, type GrpcCall } from './grpc-connection.ts';
import { nowMs } from './measure.ts';
import { TYPE } from './policies.ts';
import { scanRequest, scanResponse } from './response-scan.ts';

const NODE = { version: 'bench', instanceId: 'bench', config: '{"store":{"type":"postgres"}}' };
/** As a zone has it for its health check. */
const ANSWER_MS = 30_000;

/**
 * What a zone does with a response: `good` acknowledges it, `silent` says nothing, `refusing` refuses it, `deaf` does not even
 * read it. A `restless` one acknowledges it, and leaves and joins again and again.
 */
export type Manners = 'good' | 'silent' | 'refusing' | 'deaf' | 'restless';

export type FakeZoneOptions = {
  readonly name: string;
  readonly address: string;
  readonly manners: Manners;
  /** MeshTimeouts of a full state. A zone that has had them does not connect again. */
  readonly all: number;
};

const REFUSAL = { code: 3, message: 'this zone refuses everything', details: [] };

export class FakeZone {
  readonly #name: string;
  readonly #address: string;
  readonly #manners: Manners;
  readonly #all: number;
  readonly #onReceived: (at: number) => void;
  readonly #onFailed: (reason: string) => void;
  readonly #answered = new Set<string>();
  /** Null before the first connection, between two, and after the last. */
  #connection: GrpcConnection | null = null;
  #timer: NodeJS.Timeout | undefined;
  #policies = 0;
  /** Failed connections before the zone had everything. */
  failures = 0;

  constructor(
    { name, address, manners, all }: FakeZoneOptions,
    onReceived: (at: number) => void,
    onFailed: (reason: string) => void,
  ) {
    this.#name = name;
    this.#address = address;
    this.#manners = manners;
    this.#all = all;
    this.#onReceived = onReceived;
    this.#onFailed = onFailed;
  }

  /** MeshTimeouts received so far, a changed one again; −1 until every type has been answered once. */
  get received(): number {
    return this.#answered.size < zoneConsumes.length ? -1 : this.#policies;
  }

  /** Opens the calls of a zone. */
  join(): void {
    const [host = '', port = ''] = this.#address.split(':');
    const takes = this.#manners === 'deaf' ? 'little' : 'all';
    const connection = new GrpcConnection(connect({ host, port: Number(port) }), 'http', takes);
    this.#connection = connection;
    const late = setTimeout(() => this.#lost(connection, 'the server did not answer in time'), ANSWER_MS);
    const { path } = globalService.healthCheck;
    connection.ask({ path, metadata: this.#metadata }, encodeHealthCheckRequest(), (answer) => {
      clearTimeout(late);
      if (answer === null) this.#lost(connection, 'the server refused a health check');
      else if (connection === this.#connection) this.#openStreams(connection);
    });
  }

  /** Leaves without a word. */
  leave(): void {
    clearTimeout(this.#timer);
    const connection = this.#connection;
    this.#connection = null;
    connection?.destroy();
  }

  /** What it had on a connection is sent again on the next one: the counts begin again. */
  #lost(connection: GrpcConnection, reason: string): void {
    if (connection !== this.#connection) return;
    const hadAll = this.received >= this.#all;
    this.leave();
    if (hadAll) {
      this.#onFailed(reason);
      return;
    }
    this.failures += 1;
    this.#answered.clear();
    this.#policies = 0;
    this.#timer = setTimeout(() => this.join(), reconnectPauseMs());
  }

  #openStreams(connection: GrpcConnection): void {
    const down = this.#open(connection, syncService.globalToZoneSync.path, (bytes) => {
      if (this.#manners !== 'deaf') this.#receive(down, bytes);
    });
    for (const { name } of zoneConsumes) this.#request(down, name, '', name === zoneConsumes[0]?.name);
    const up = this.#open(connection, syncService.zoneToGlobalSync.path, (bytes) => this.#answer(up, bytes));
    // One admin stream for all kinds, as global knows it.
    this.#open(connection, globalService.streamXDSConfigs.path, () => undefined);
  }

  #receive(stream: GrpcCall, bytes: Buffer): void {
    const at = nowMs();
    if (isInStep(bytes)) {
      for (const type of decodeInStep(bytes)) this.#answered.add(type);
      this.#onReceived(at);
      return;
    }
    const { type, nonce, resources } = scanResponse(bytes);
    this.#answered.add(type);
    if (type === TYPE) this.#policies += resources;
    this.#onReceived(at);
    if (this.#manners !== 'silent') this.#request(stream, type, nonce);
  }

  /** A subscription where the nonce is empty, otherwise an answer. @param isFirst global remembers the metadata of the first request */
  #request(stream: GrpcCall, type: string, nonce: string, isFirst = false): void {
    const isAnswer = nonce !== '';
    stream.write(
      encodeDeltaRequest({
        node: { id: this.#name, ...(isFirst && { metadata: nodeMetadata(NODE, true) }) },
        typeUrl: type,
        subscribe: isAnswer ? [] : ['*'],
        unsubscribe: [],
        initialResourceVersions: new Map(),
        responseNonce: nonce,
        errorDetail: this.#manners === 'refusing' && isAnswer ? REFUSAL : null,
      }),
    );
  }

  /** The zone has nothing of its own. Global asks for differences, so it has everything. */
  #answer(stream: BundledCall, bytes: Buffer): void {
    const { type, nonce } = scanRequest(bytes);
    if (nonce === '') stream.sayInStep(type);
  }

  #open(connection: GrpcConnection, path: string, take: (bytes: Buffer) => void): BundledCall {
    return openBundled(connection, {
      ...{ path, metadata: this.#metadata },
      onMessage: (bytes) => {
        if (connection === this.#connection) take(bytes);
      },
      onEnd: () => this.#lost(connection, 'the server ended a stream'),
    });
  }

  get #metadata(): [string, string][] {
    return [
      ['client-id', this.#name],
      ['kds-version', 'v3'],
      ['version', NODE.version],
      ...zoneHeaderFeatures.map((name): [string, string] => ['features', name]),
    ];
  }
}
