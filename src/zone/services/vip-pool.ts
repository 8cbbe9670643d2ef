// Virtual addresses of one type of service (policies 9.3, status.vips). Invariants: no two holders of one address; a holder
// keeps its address; an address is not given to another while this process runs.
import { isIP } from 'node:net';

/** First octet of the addresses of a type: 241.0.0.0/8 and so on; the first address is x.0.0.0. */
export const vipNetworks = { MeshService: 241, MeshExternalService: 242, MeshMultiZoneService: 243 } as const;

const SIZE = 2 ** 24;

export class VipPool {
  readonly #network: number;
  readonly #holders = new Map<string, string>();
  readonly #addresses = new Map<string, string>();
  /** Every address that was held since the start. */
  readonly #used = new Set<string>();
  #next = 0;

  constructor(network: number) {
    this.#network = network;
  }

  addressOf(id: string): string | undefined {
    return this.#addresses.get(id);
  }

  holderOf(address: string): string | undefined {
    return this.#holders.get(address);
  }

  /** Notes that a row carries an address, whatever its network: addresses are stable. Whoever held it before loses it. */
  hold(id: string, address: string): void {
    if (isIP(address) === 0) return;
    const before = this.#holders.get(address);
    if (before !== undefined) this.#addresses.delete(before);
    this.release(id);
    this.#holders.set(address, id);
    this.#addresses.set(id, address);
    this.#used.add(address);
  }

  release(id: string): void {
    const address = this.#addresses.get(id);
    if (address === undefined) return;
    this.#addresses.delete(id);
    this.#holders.delete(address);
  }

  /** Gives the next free address, one used before only when all were. @throws Error when every address is held */
  take(id: string): string {
    for (const isTaken of [this.#used, this.#holders]) {
      for (let step = 0; step < SIZE; step += 1) {
        const address = this.#address((this.#next + step) % SIZE);
        if (isTaken.has(address)) continue;
        this.#next = (this.#next + step + 1) % SIZE;
        this.hold(id, address);
        return address;
      }
    }
    throw new Error(`all addresses of ${String(this.#network)}.0.0.0/8 are held`);
  }

  #address(index: number): string {
    return [this.#network, index >> 16, (index >> 8) & 255, index & 255].join('.');
  }
}
