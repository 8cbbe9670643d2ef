// The calling proxy as the configuration of outbounds sees it; it records reads. Invariant: configuration that was built without reading the
// client is the same for every proxy of the zone with the same policies.
import { isDeepStrictEqual } from 'node:util';
import type { DataplaneProxy } from '../policy/dataplane-proxy.ts';
import { label } from '../resource/labels.ts';
import { objectOf, textOf } from '../resource/read-json.ts';
import type { Labels } from '../resource/types.ts';
import { isPath, type ProxyFeatures } from './proxy-features.ts';

export class Client {
  readonly zone: string;
  readonly #proxy: DataplaneProxy;
  #wasRead = false;

  constructor(proxy: DataplaneProxy) {
    this.#proxy = proxy;
    this.zone = proxy.zone;
  }

  /** True when something of the proxy but its zone was read since the last call. */
  takeRead(): boolean {
    const wasRead = this.#wasRead;
    this.#wasRead = false;
    return wasRead;
  }

  /** The features of its programs, for its outbounds: a path on its machine is its own. */
  featuresOf(features: ProxyFeatures): ProxyFeatures {
    const get = (given: ProxyFeatures, key: keyof ProxyFeatures): ProxyFeatures[keyof ProxyFeatures] => {
      if (isPath(given[key])) this.#wasRead = true;
      return given[key];
    };
    return new Proxy(features, { get: (given, key) => get(given, key as keyof ProxyFeatures) });
  }

  get labels(): Labels {
    return this.#read().labels;
  }

  /** Its name in access logs. */
  get workload(): string {
    const { labels, displayName } = this.#read();
    return labels[label.workload] ?? displayName;
  }

  get address(): string {
    return textOf(objectOf(this.#read().resource.spec['networking'])['address']);
  }

  #read(): DataplaneProxy {
    this.#wasRead = true;
    return this.#proxy;
  }
}

/** Whether two versions of a Dataplane are the same client. */
export function isSameClient(one: DataplaneProxy, other: DataplaneProxy): boolean {
  const [a, b] = [new Client(one), new Client(other)];
  return a.zone === b.zone && a.workload === b.workload && a.address === b.address && isDeepStrictEqual(a.labels, b.labels);
}
