// The attacks of a hostile zone for the section `neighbours`. Each runs until the process ends.
import { setImmediate } from 'node:timers/promises';
import { Client, Metadata, credentials, type ClientDuplexStream } from '@grpc/grpc-js';
import { feature, zoneHeaderFeatures } from '../src/kds/protocol/features.ts';
import { nodeMetadata } from '../src/kds/protocol/node.ts';
import { globalService, syncService } from '../src/kds/protocol/services.ts';
import { encodeKumaResource } from '../src/resource/codec.ts';
import { typeOf } from '../src/resource/type-registry.ts';
import type { JsonObject } from '../src/resource/types.ts';
import { encodeDeltaRequest, encodeDeltaResponse, encodeResourceEntry } from '../src/wire/kds-messages.ts';
import { forgedToken } from './forged-token.ts';
import { MESH } from './policies.ts';
import { scanRequest } from '../test/fakes/response-scan.ts';

/** Attack → what the zone does. */
export const attacks = {
  names: '40 streams × 400,000 removed names',
  large: '40 streams × one resource of 9 MB',
  streams: '1,000 streams',
  churn: 'streams that open and close without end',
  refused: '4,000 calls a second that are refused',
  services: '50,000 services at once, again and again',
} as const;

export type Attack = keyof typeof attacks;

const TYPE = 'MeshService';
const STREAMS = 40;
const REMOVED_NAMES = 400_000;
const LARGE_BYTES = 9_000_000;
const MANY_STREAMS = 1_000;
const SERVICES = 50_000;
const SERVICES_A_MESSAGE = 12_500;
const CHURNING_STREAMS = 20;
const REFUSED_CONNECTIONS = 20;
const REFUSED_AT_ONCE = 4;
const REFUSED_EVERY_MS = 20;
/** A call that waits longer is given up, so that this process does not hold more and more of them. */
const REFUSED_WAIT_MS = 1_000;
const FORGED_TOKEN = forgedToken({ Zone: 'stranger', Scope: ['cp'] });

/** It does not read bundles: with that feature it would not see what it is asked for. */
const FEATURES = zoneHeaderFeatures.filter((name) => name !== feature.bundles);

type Stream = ClientDuplexStream<Buffer, Buffer>;

async function closeOf(stream: Stream): Promise<void> {
  await new Promise<void>((resolve) => stream.once('status', () => resolve()));
}

function dial(address: string): Client {
  return new Client(address, credentials.createInsecure(), { 'grpc.use_local_subchannel_pool': 1 });
}

const same = (bytes: Buffer): Buffer => bytes;

export class Attacker {
  readonly #zone: string;
  readonly #address: string;
  readonly #client: Client;

  constructor(zone: string, address: string) {
    this.#zone = zone;
    this.#address = address;
    this.#client = dial(address);
  }

  /** Resolves when the attack is on its way. */
  async begin(attack: Attack): Promise<void> {
    if (attack === 'names') await this.#floodUp([this.#removing()], STREAMS);
    else if (attack === 'large') await this.#floodUp([this.#large()], STREAMS);
    else if (attack === 'streams') this.#subscribe(MANY_STREAMS, false);
    else if (attack === 'churn') this.#subscribe(CHURNING_STREAMS, true);
    else if (attack === 'refused') this.#callRefused();
    else await this.#floodUp([...this.#services(1), ...this.#services(2)], 1);
  }

  /** Health checks with a forged token, on connections of their own. */
  #callRefused(): void {
    const { path } = globalService.healthCheck;
    const metadata = new Metadata();
    metadata.set('client-id', 'stranger');
    metadata.set('authorization', `Bearer ${FORGED_TOKEN}`);
    const clients = Array.from({ length: REFUSED_CONNECTIONS }, () => dial(this.#address));
    setInterval(() => {
      const deadline = Date.now() + REFUSED_WAIT_MS;
      for (const client of clients)
        for (let n = 0; n < REFUSED_AT_ONCE; n += 1)
          client.makeUnaryRequest(path, same, same, Buffer.alloc(0), metadata, { deadline }, () => undefined);
    }, REFUSED_EVERY_MS);
  }

  /**
   * On each stream the messages in turn, the next when the one before it was answered; a stream that ends is opened again.
   * Resolves when one stream has sent each once.
   */
  async #floodUp(messages: readonly Buffer[], streams: number): Promise<void> {
    await new Promise<void>((resolve) => {
      for (let n = 0; n < streams; n += 1) void this.#repeat(() => this.#answer(messages, resolve));
    });
  }

  async #repeat(work: () => Promise<void>): Promise<never> {
    for (;;) {
      await work();
      await setImmediate();
    }
  }

  async #answer(messages: readonly Buffer[], onAllSent: () => void): Promise<void> {
    const stream = this.#open(syncService.zoneToGlobalSync.path);
    let sent = 0;
    const sendNext = (): void => void stream.write(messages[sent++ % messages.length] ?? Buffer.alloc(0));
    stream.on('data', (bytes: Buffer) => {
      const { type, nonce } = scanRequest(bytes);
      if (type !== TYPE) {
        if (nonce === '')
          stream.write(encodeDeltaResponse({ typeUrl: type, nonce: type, controlPlane: '', entries: [], removed: [] }));
        return;
      }
      sendNext();
      if (sent === messages.length) onAllSent();
    });
    await closeOf(stream);
  }

  /** @param leaves a stream is cancelled at the first response; else it stays */
  #subscribe(streams: number, leaves: boolean): void {
    const metadata = nodeMetadata({ version: 'bench', instanceId: 'bench', config: '' }, true);
    const subscription = encodeDeltaRequest({
      ...{ node: { id: this.#zone, metadata }, typeUrl: 'MeshTimeout', subscribe: ['*'], unsubscribe: [] },
      ...{ initialResourceVersions: new Map(), responseNonce: '', errorDetail: null },
    });
    for (let n = 0; n < streams; n += 1)
      void this.#repeat(async () => {
        const stream = this.#open(syncService.globalToZoneSync.path);
        stream.write(subscription);
        const closed = closeOf(stream);
        stream.on('data', () => {
          if (leaves) stream.cancel();
        });
        await closed;
      });
  }

  #services(revision: number): Buffer[] {
    return Array.from({ length: SERVICES / SERVICES_A_MESSAGE }, (_, part) => {
      const entries = Array.from({ length: SERVICES_A_MESSAGE }, (_, index) =>
        this.#entry(`attack-${String(part * SERVICES_A_MESSAGE + index)}`, {
          selector: { dataplaneTags: { 'kuma.io/service': `service-${String(index)}` } },
          ports: [{ name: 'http', port: 80, targetPort: 8_080 + revision, appProtocol: 'http' }],
        }),
      );
      return this.#response(entries, []);
    });
  }

  #large(): Buffer {
    const name = 'a'.repeat(LARGE_BYTES);
    return this.#response([this.#entry('large', { selector: { dataplaneTags: { name } }, ports: [] })], []);
  }

  #removing(): Buffer {
    const names = Array.from({ length: REMOVED_NAMES }, (_, index) => `n${String(index)}.${MESH}`);
    return this.#response([], names);
  }

  #entry(name: string, spec: JsonObject): Buffer {
    const labels = { 'kuma.io/origin': 'zone', 'kuma.io/zone': this.#zone };
    const kumaResource = encodeKumaResource(typeOf(TYPE), { name, mesh: MESH, labels, spec, status: undefined });
    return encodeResourceEntry({ name: `${name}.${MESH}`, version: '', kumaResource });
  }

  #response(entries: readonly Buffer[], removed: readonly string[]): Buffer {
    return encodeDeltaResponse({ typeUrl: TYPE, nonce: 'n', controlPlane: this.#zone, entries, removed });
  }

  #open(path: string): Stream {
    const metadata = new Metadata();
    metadata.set('client-id', this.#zone);
    for (const name of FEATURES) metadata.add('features', name);
    const stream = this.#client.makeBidiStreamRequest(path, same, same, metadata);
    stream.on('error', () => undefined);
    return stream;
  }
}
