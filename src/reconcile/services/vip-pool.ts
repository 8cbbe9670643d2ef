// Virtual addresses of one type of service (policies 9.3, status.vips). Invariants: an address has one holder; a holder keeps its
// address; a released address is reused only after all others.
import { isIP } from 'node:net';

/** The networks of each type, as IPv4 CIDRs (`ipam` of the configuration). The first address is x.0.0.0. */
export type VipNetworks = {
  readonly MeshService: string;
  readonly MeshExternalService: string;
  readonly MeshMultiZoneService: string;
};

export const defaultVipNetworks: VipNetworks = {
  MeshService: '241.0.0.0/8',
  MeshExternalService: '242.0.0.0/8',
  MeshMultiZoneService: '243.0.0.0/8',
};

export class VipPool {
  readonly #first: number;
  readonly #size: number;
  readonly #holders = new Map<string, string>();
  readonly #addresses = new Map<string, string>();
  /** Every address that was held since the start. */
  readonly #used = new Set<string>();
  #next = 0;

  /** @param network the IPv4 CIDR of the addresses */
  constructor(network: string) {
    const [address = '', bits = '32'] = network.split('/');
    this.#size = 2 ** (32 - Number(bits));
    const given = address.split('.').reduce((sum, octet) => sum * 256 + Number(octet), 0);
    this.#first = given - (given % this.#size);
  }

  addressOf(id: string): string | undefined {
    return this.#addresses.get(id);
  }

  holderOf(address: string): string | undefined {
    return this.#holders.get(address);
  }

  /** Records that a row has an address, in any network: addresses are stable. A previous holder loses it. */
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

  /** Returns the next free address, and a used one only after all others; null when every address is held. */
  take(id: string): string | null {
    for (const isTaken of [this.#used, this.#holders]) {
      for (let step = 0; step < this.#size; step += 1) {
        const address = this.#address((this.#next + step) % this.#size);
        if (isTaken.has(address)) continue;
        this.#next = (this.#next + step + 1) % this.#size;
        this.hold(id, address);
        return address;
      }
    }
    return null;
  }

  #address(index: number): string {
    const number = this.#first + index;
    return [24, 16, 8, 0].map((bits) => (number >>> bits) & 255).join('.');
  }
}
