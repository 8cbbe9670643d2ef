// A process with some fake proxies: they join when told, and it reports when all of them have a resource one time more than before.
import { credentials } from '@grpc/grpc-js';
import type { XdsType } from '../src/ads/session.ts';
import { PlayedProxy } from '../test/ads/played-proxy.ts';
import { nowMs } from './measure.ts';

export type ProxiesCommand =
  | { readonly kind: 'join'; readonly address: string; readonly mesh: string; readonly names: readonly string[] }
  /** Joins again with what the proxies hold. */
  | { readonly kind: 'rejoin'; readonly address: string }
  /** Counts from 0 how often each proxy receives this resource. */
  | { readonly kind: 'watch'; readonly type: XdsType; readonly name: string };
export type ProxiesReport =
  | { readonly kind: 'up' }
  /** All proxies have all that they have asked for; resources that they received since they joined. */
  | { readonly kind: 'warm'; readonly at: number; readonly received: number }
  /** Every proxy has received the watched resource so often; the last at a time in milliseconds of `nowMs`. */
  | { readonly kind: 'received'; readonly count: number; readonly at: number };

class Proxies {
  readonly #proxies: { readonly proxy: PlayedProxy; count: number; isWarm: boolean }[] = [];
  #address = '';
  #watched: { readonly type: XdsType; readonly name: string } | null = null;
  #least = 0;
  #cold = 0;

  join(address: string, mesh: string, names: readonly string[]): void {
    this.#address = address;
    const metadata = { features: ['feature-reuse-port'] };
    for (const name of names) {
      const proxy = new PlayedProxy({
        ...{ mesh, name, metadata, keepsBytes: false },
        // The getter is read at each connect: the control plane may have moved.
        get address() {
          return proxies.address;
        },
        credentials: credentials.createSsl(null, null, null, { rejectUnauthorized: false }),
        onResponse: (type, resources) => this.#took(entry, type, resources),
      });
      const entry = { proxy, count: 0, isWarm: false };
      this.#proxies.push(entry);
    }
    this.#cold = this.#proxies.length;
    for (const { proxy } of this.#proxies) proxy.connect();
  }

  rejoin(address: string): void {
    this.#address = address;
    for (const { proxy } of this.#proxies) {
      proxy.disconnect();
      proxy.received = 0;
      proxy.connect();
    }
    // What would be sent again arrives with the first responses.
    this.#cold = this.#proxies.length;
    for (const entry of this.#proxies) entry.isWarm = false;
  }

  watch(type: XdsType, name: string): void {
    this.#watched = { type, name };
    this.#least = 0;
    for (const entry of this.#proxies) entry.count = 0;
  }

  get address(): string {
    return this.#address;
  }

  #took(entry: { readonly proxy: PlayedProxy; count: number; isWarm: boolean }, type: XdsType, names: readonly string[]): void {
    if (!entry.isWarm && entry.proxy.isWarm && type !== 'Cluster') this.#warmed(entry);
    if (this.#watched?.type !== type || !names.includes(this.#watched.name)) return;
    entry.count += 1;
    if (entry.count !== this.#least + 1) return;
    const least = Math.min(...this.#proxies.map(({ count }) => count));
    if (least === this.#least) return;
    this.#least = least;
    report({ kind: 'received', count: least, at: nowMs() });
  }

  #warmed(entry: { isWarm: boolean }): void {
    entry.isWarm = true;
    this.#cold -= 1;
    if (this.#cold > 0) return;
    const received = this.#proxies.reduce((sum, { proxy }) => sum + proxy.received, 0);
    report({ kind: 'warm', at: nowMs(), received });
  }
}

const proxies = new Proxies();

function report(message: ProxiesReport): void {
  process.send?.(message);
}

// The terminal interrupts everyone; the process that measures decides when this one ends.
process.on('SIGINT', () => undefined);
process.on('disconnect', () => process.exit(0));
process.on('message', (command: ProxiesCommand) => {
  if (command.kind === 'join') proxies.join(command.address, command.mesh, command.names);
  else if (command.kind === 'rejoin') proxies.rejoin(command.address);
  else proxies.watch(command.type, command.name);
});
report({ kind: 'up' });
