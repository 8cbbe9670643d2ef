// A process with some fake proxies: they join when told, and it reports when all of them have a resource one time more than before.
import type { XdsType } from '../src/ads/session-messages.ts';
import { report, takeCommands } from './commands.ts';
import { FakeProxy, type FakeProxyOptions } from '../test/fakes/fake-proxy.ts';
import { nowMs } from './measure.ts';
import type { ScannedResource } from '../test/fakes/response-scan.ts';

type JoiningProxy = Pick<FakeProxyOptions, 'name' | 'dataplane'>;
export type ProxiesCommand =
  | { readonly kind: 'join'; readonly port: number; readonly mesh: string; readonly proxies: readonly JoiningProxy[] }
  /** Joins again with what the proxies hold. */
  | { readonly kind: 'rejoin'; readonly port: number }
  /** Counts from 0 how often each proxy receives this resource. */
  | { readonly kind: 'watch'; readonly type: XdsType; readonly name: string };
export type ProxiesReport =
  | { readonly kind: 'up' }
  /** All proxies have all that they have asked for; resources that they received since they joined. */
  | { readonly kind: 'warm'; readonly at: number; readonly received: number }
  /** Every proxy has received the watched resource so often; the last at a time in milliseconds of `nowMs`. */
  | { readonly kind: 'received'; readonly count: number; readonly at: number };

type Entry = { readonly proxy: FakeProxy; count: number; isWarm: boolean };

class Proxies {
  readonly #proxies: Entry[] = [];
  #watched: { readonly type: XdsType; readonly name: string } | null = null;
  #least = 0;
  #cold = 0;

  join(port: number, mesh: string, joining: readonly JoiningProxy[]): void {
    for (const one of joining) {
      const onResponse = (type: XdsType, resources: readonly ScannedResource[]): void => this.#took(entry, type, resources);
      const entry: Entry = { proxy: new FakeProxy({ ...one, mesh, onResponse }), count: 0, isWarm: false };
      this.#proxies.push(entry);
    }
    this.rejoin(port);
  }

  rejoin(port: number): void {
    this.#cold = this.#proxies.length;
    for (const entry of this.#proxies) {
      entry.isWarm = false;
      entry.proxy.connect(port);
    }
  }

  watch(type: XdsType, name: string): void {
    this.#watched = { type, name };
    this.#least = 0;
    for (const entry of this.#proxies) entry.count = 0;
  }

  #took(entry: Entry, type: XdsType, resources: readonly ScannedResource[]): void {
    if (!entry.isWarm && entry.proxy.isWarm) this.#warmed(entry);
    const watched = this.#watched;
    if (watched?.type !== type || !resources.some(({ name }) => name === watched.name)) return;
    entry.count += 1;
    if (entry.count !== this.#least + 1) return;
    const least = Math.min(...this.#proxies.map(({ count }) => count));
    if (least === this.#least) return;
    this.#least = least;
    report({ kind: 'received', count: least, at: nowMs() } satisfies ProxiesReport);
  }

  #warmed(entry: Entry): void {
    entry.isWarm = true;
    this.#cold -= 1;
    if (this.#cold > 0) return;
    const received = this.#proxies.reduce((sum, { proxy }) => sum + proxy.received, 0);
    report({ kind: 'warm', at: nowMs(), received } satisfies ProxiesReport);
  }
}

const proxies = new Proxies();

takeCommands((command: ProxiesCommand): void => {
  if (command.kind === 'join') proxies.join(command.port, command.mesh, command.proxies);
  else if (command.kind === 'rejoin') proxies.rejoin(command.port);
  else proxies.watch(command.type, command.name);
});
report({ kind: 'up' } satisfies ProxiesReport);
