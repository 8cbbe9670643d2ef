// The one service that a fake zone has of its own, and what it sends of it to global: one response at a time, the latest state alone.
import { encodeKumaResource, wireVersion } from '../../src/resource/codec.ts';
import { typeOf } from '../../src/resource/type-registry.ts';
import { decodeDeltaRequest, encodeDeltaResponse, encodeResourceEntry } from '../../src/wire/kds-messages.ts';
import { wireName, type Row } from '../chaos/expected-rows.ts';
import { MESH } from '../../bench/policies.ts';
import type { OwnService } from '../fakes/fake-zone.ts';

export const SERVICE_TYPE = 'MeshService';
/** No answer has this nonce: nothing is sent before a subscription. */
const NO_SUBSCRIPTION = 'no subscription';

/** As the zone itself would store it. */
export function serviceOfZone(zone: string, port: number): Row {
  const name = `service-of-${zone}`;
  const labels = { 'kuma.io/display-name': name, 'kuma.io/origin': 'zone', 'kuma.io/zone': zone };
  const spec = { ports: [{ port, appProtocol: 'http' }], state: 'Unavailable' };
  return { type: SERVICE_TYPE, mesh: MESH, name, labels, spec, status: {}, owner: null, isCopy: false };
}

export class ZoneService implements OwnService {
  readonly type = SERVICE_TYPE;
  readonly #zone: string;
  /** Port of the service; null where there is none. */
  port: number | null = null;
  #nonce = 0;
  /** What global has not answered yet. */
  #pending = NO_SUBSCRIPTION;
  #isChanged = false;

  constructor(zone: string) {
    this.#zone = zone;
  }

  /** @returns what to send now; null while an answer is missing */
  put(port: number | null): Buffer | null {
    this.port = port;
    this.#isChanged = true;
    return this.#next();
  }

  /**
   * A subscription of global to services, or its answer to a response.
   * @returns what to send, whether global refused the last response, and whether a subscription shows that global has everything
   */
  take(bytes: Buffer): { readonly response: Buffer | null; readonly isRefused: boolean; readonly isInStep: boolean } {
    const { responseNonce, initialResourceVersions, errorDetail } = decodeDeltaRequest(bytes);
    if (responseNonce === '') {
      this.#pending = '';
      this.#isChanged = false;
      const removed = [...initialResourceVersions.keys()].filter((name) => name !== this.#wireName || this.port === null);
      const isInStep = removed.length === 0 && this.port === null;
      return { response: isInStep ? null : this.#respond(removed), isRefused: false, isInStep };
    }
    if (responseNonce !== this.#pending) return { response: null, isRefused: errorDetail !== null, isInStep: false };
    this.#pending = '';
    return { response: this.#isChanged ? this.#next() : null, isRefused: errorDetail !== null, isInStep: false };
  }

  /** Its connection was lost: global says on the next one what it has. */
  forget(): void {
    this.#pending = NO_SUBSCRIPTION;
  }

  get #wireName(): string {
    return `${wireName(serviceOfZone(this.#zone, 0))}.${MESH}`;
  }

  #next(): Buffer | null {
    if (this.#pending !== '') return null;
    this.#isChanged = false;
    return this.#respond(this.port === null ? [this.#wireName] : []);
  }

  #respond(removed: readonly string[]): Buffer {
    this.#pending = String((this.#nonce += 1));
    const entries = this.port === null ? [] : [this.#entry(this.port)];
    return encodeDeltaResponse({ typeUrl: SERVICE_TYPE, nonce: this.#pending, controlPlane: this.#zone, entries, removed });
  }

  #entry(port: number): Buffer {
    const { labels, spec, mesh, ...row } = serviceOfZone(this.#zone, port);
    const name = wireName({ ...row, mesh, labels });
    const kumaResource = encodeKumaResource(typeOf(SERVICE_TYPE), { name, mesh, labels, spec, status: undefined });
    return encodeResourceEntry({ name: this.#wireName, version: wireVersion(kumaResource), kumaResource });
  }
}
