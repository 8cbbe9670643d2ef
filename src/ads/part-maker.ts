// Builds and encodes the parts of views. Invariant: a part that was built without reading its client is the same for every client with the
// same key.
import { buildRules, type ProxyRules } from '../policy/build-rules.ts';
import type { MeshIndex } from '../policy/mesh-index.ts';
import { BackendResolver } from '../xds/backends.ts';
import { Client } from '../xds/client.ts';
import { type ProxyConfig, type ProxyContext, emptyConfig } from '../xds/proxy-context.ts';
import { NO_NAMES } from '../xds/name-table.ts';
import type { ProxyFeatures } from '../xds/proxy-features.ts';
import { proxyTls, type ProxyTls } from '../xds/proxy-tls.ts';
import type { ConnectedProxy } from './connected-proxy.ts';
import type { ResourceEncoder } from './encode-resources.ts';
import type { EncodedPart } from './encoded-part.ts';
import type { Certified } from './proxy-view.ts';
import type { KeptPart } from './view-parts.ts';

export class PartMaker {
  readonly resolver: BackendResolver;
  readonly #index: MeshIndex;
  readonly #encoder: ResourceEncoder;
  /** Parts that were made. */
  #serials = 0;

  /** @param zone of all proxies */
  constructor(index: MeshIndex, encoder: ResourceEncoder, zone: string) {
    this.#index = index;
    this.#encoder = encoder;
    this.resolver = new BackendResolver(index, zone);
  }

  /** What the parts of a proxy are made from. */
  contextOf(connected: ConnectedProxy): ProxyContext {
    return new LazyContext(this.#index, this.resolver, connected);
  }

  /** A part, with the result of `add`, which fills its configuration. */
  make<T>({ client }: ProxyContext, add: (config: ProxyConfig) => T): EncodedPart & T & KeptPart {
    const config = emptyConfig();
    client.takeRead();
    const more = add(config);
    return { ...this.encode(config), ...more, isOwn: client.takeRead(), serial: (this.#serials += 1) };
  }

  encode(config: ProxyConfig): EncodedPart {
    return this.#encoder.part(config);
  }
}

/** Expensive fields are computed when a part first needs them: a change makes a context for every proxy, and most parts are shared. */
class LazyContext implements ProxyContext {
  readonly index: MeshIndex;
  readonly resolver: BackendResolver;
  readonly client: Client;
  readonly names = NO_NAMES;
  readonly #connected: ConnectedProxy;
  #rules: ProxyRules | undefined;
  #tls: ProxyTls | null | undefined;
  #features: ProxyFeatures | undefined;

  constructor(index: MeshIndex, resolver: BackendResolver, connected: ConnectedProxy) {
    this.index = index;
    this.resolver = resolver;
    this.client = new Client(connected.proxy);
    this.#connected = connected;
  }

  get features(): ProxyFeatures {
    return (this.#features ??= this.client.featuresOf(this.#connected.features));
  }

  get tls(): ProxyTls | null {
    if (this.#tls !== undefined) return this.#tls;
    const { proxy, certified } = this.#connected;
    return (this.#tls = certified === null ? null : tlsWith(proxyTls(this.index, proxy), certified));
  }

  get rules(): ProxyRules {
    return (this.#rules ??= buildRules(this.index, this.#connected.proxy));
  }
}

function tlsWith(wanted: ProxyTls | null, { identity }: Certified): ProxyTls | null {
  return wanted === null ? null : { ...wanted, identity };
}
