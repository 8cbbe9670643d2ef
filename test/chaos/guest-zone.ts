// A simulated zone without a database. It joins like a Meridian zone and follows the protocol, or never answers, or refuses
// everything. It counts the resources that it receives.
import { Client, Metadata, credentials, type ClientDuplexStream } from '@grpc/grpc-js';
import { feature, zoneHeaderFeatures } from '../../src/kds/protocol/features.ts';
import { nodeMetadata } from '../../src/kds/protocol/node.ts';
import { zoneConsumes } from '../../src/kds/protocol/rules.ts';
import { syncService } from '../../src/kds/protocol/services.ts';
import { decodeDeltaRequest, decodeDeltaResponse, encodeDeltaRequest, encodeDeltaResponse } from '../../src/wire/kds-messages.ts';

export type Manner = 'acknowledges' | 'says nothing' | 'refuses everything';

const NODE = { version: '0', instanceId: 'guest', config: '' };
const REFUSAL = { code: 3, message: 'refused on principle', details: [] };

export class GuestZone {
  readonly name: string;
  readonly #manner: Manner;
  readonly #client: Client;
  readonly #responses = new Map<string, number>();

  private constructor(name: string, manner: Manner, address: string) {
    this.name = name;
    this.#manner = manner;
    this.#client = new Client(address, credentials.createInsecure(), { 'grpc.use_local_subchannel_pool': 1 });
  }

  /** Opens both streams and subscribes to every type. */
  static join(name: string, manner: Manner, address: string): GuestZone {
    const guest = new GuestZone(name, manner, address);
    const down = guest.#open(syncService.globalToZoneSync.path);
    down.on('data', (bytes: Buffer) => guest.#receive(down, bytes));
    for (const { name: type } of zoneConsumes) guest.#request(down, type, '');
    const up = guest.#open(syncService.zoneToGlobalSync.path);
    up.on('data', (bytes: Buffer) => guest.#answer(up, bytes));
    return guest;
  }

  /** The number of received responses of a type. */
  responses(type: string): number {
    return this.#responses.get(type) ?? 0;
  }

  /** True if every type was answered once. */
  get hasFirstStates(): boolean {
    return this.#responses.size === zoneConsumes.length;
  }

  leave(): void {
    this.#client.close();
  }

  #receive(stream: ClientDuplexStream<Buffer, Buffer>, bytes: Buffer): void {
    const { typeUrl, nonce } = decodeDeltaResponse(bytes);
    this.#responses.set(typeUrl, this.responses(typeUrl) + 1);
    if (this.#manner !== 'says nothing') this.#request(stream, typeUrl, nonce);
  }

  /** Sends a subscription with an empty nonce, else the answer to that response. */
  #request(stream: ClientDuplexStream<Buffer, Buffer>, typeUrl: string, responseNonce: string): void {
    const isFirst = responseNonce === '';
    const errorDetail = !isFirst && this.#manner === 'refuses everything' ? REFUSAL : null;
    stream.write(
      encodeDeltaRequest({
        node: { id: this.name, ...(isFirst && { metadata: nodeMetadata(NODE, true) }) },
        ...{ typeUrl, responseNonce, errorDetail, subscribe: isFirst ? ['*'] : [], unsubscribe: [] },
        initialResourceVersions: new Map(),
      }),
    );
  }

  /** The guest has no resources: each subscription of global gets one empty response. */
  #answer(stream: ClientDuplexStream<Buffer, Buffer>, bytes: Buffer): void {
    const { typeUrl, responseNonce } = decodeDeltaRequest(bytes);
    if (responseNonce !== '' || this.#manner === 'says nothing') return;
    stream.write(encodeDeltaResponse({ typeUrl, nonce: typeUrl, controlPlane: this.name, entries: [], removed: [] }));
  }

  #open(path: string): ClientDuplexStream<Buffer, Buffer> {
    const metadata = new Metadata();
    metadata.set('client-id', this.name);
    for (const name of zoneHeaderFeatures)
      if (name !== feature.bundles && name !== feature.inStep) metadata.add('features', name);
    const same = (bytes: Buffer): Buffer => bytes;
    const stream = this.#client.makeBidiStreamRequest(path, same, same, metadata);
    stream.on('error', () => undefined);
    return stream;
  }
}
