// The GlobalToZoneSync stream of a simulated zone: it subscribes to types and reads one response after the other.
import type { Duplex } from 'node:stream';
import type { Client } from '@grpc/grpc-js';
import { syncService } from '../../src/kds/protocol/services.ts';
import { messagesOf } from '../../src/grpc/messages-of.ts';
import { decodeKumaResource, type WireResource } from '../../src/resource/codec.ts';
import { typeOf } from '../../src/resource/type-registry.ts';
import { decodeDeltaResponse, encodeDeltaRequest, type DeltaResponse } from '../../src/wire/kds-messages.ts';
import { encodeStruct } from '../../src/wire/struct.ts';
import { firstRequest } from './first-request.ts';
import { open, type Call } from './server-under-attack.ts';

export class PlayedZone {
  readonly name: string;
  readonly #features: string[];
  readonly #call: Call;
  readonly #messages: AsyncIterator<unknown>;

  /** @param features the features in each subscription */
  constructor(client: Client, name: string, features: readonly string[]) {
    this.name = name;
    this.#features = [...features];
    this.#call = open(client, syncService.globalToZoneSync, name);
    this.#messages = messagesOf(this.#call as unknown as Duplex)[Symbol.asyncIterator]();
  }

  /** @param known versions by wire name, of a zone that resumes */
  subscribe(type: string, known?: ReadonlyMap<string, string>): void {
    const request = firstRequest(type, { node: this.name, features: this.#features });
    const metadata = encodeStruct({ features: this.#features, 'meridian-resume': true });
    const resumed = known && { node: { id: this.name, metadata }, initialResourceVersions: known };
    this.#call.write(encodeDeltaRequest({ ...request, ...resumed }));
  }

  /** The next response, acknowledged. Rejects with the status when the stream ends. */
  async take(): Promise<DeltaResponse> {
    const message = await this.#messages.next();
    if (message.done === true) throw new Error('the stream has ended');
    const response = decodeDeltaResponse(message.value as Buffer);
    const answer = { ...firstRequest(response.typeUrl), node: { id: this.name }, subscribe: [], responseNonce: response.nonce };
    this.#call.write(encodeDeltaRequest(answer));
    return response;
  }

  leave(): void {
    this.#call.cancel();
  }
}

/** The resources of a response, by wire name. */
export function resourcesIn({ typeUrl, resources }: DeltaResponse): Record<string, WireResource> {
  return Object.fromEntries(resources.map(({ name, resource }) => [name, decodeKumaResource(typeOf(typeUrl), resource)]));
}
