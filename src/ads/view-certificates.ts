// The certificates of the connected proxies of one mesh: which identity a proxy is to have, what its token permits, and the certificate that is
// there. Invariant: a proxy keeps its certificate until it has the next one, or has no identity.
import { providerOf } from '../identity/identity-spec.ts';
import type { DataplaneProxy } from '../policy/dataplane-proxy.ts';
import type { MeshIndex } from '../policy/mesh-index.ts';
import { decidingLabels, parseMeshIdentity } from '../resource/mesh-identity.ts';
import type { ProxyPermit } from '../resource/proxy-permit.ts';
import { textOf } from '../resource/read-json.ts';
import { KeyPair } from '../xds/key-pair.ts';
import { emptyConfig } from '../xds/proxy-context.ts';
import { certifiedIdentity } from '../xds/proxy-tls.ts';
import type { ConnectedProxy } from './connected-proxy.ts';
import type { PartMaker } from './part-maker.ts';
import type { CertificateOrder, CertificateSource } from './proxy-certificates.ts';

export class ViewCertificates {
  readonly #index: MeshIndex;
  readonly #parts: PartMaker;
  readonly #source: CertificateSource;

  constructor(index: MeshIndex, parts: PartMaker, source: CertificateSource) {
    this.#index = index;
    this.#parts = parts;
    this.#source = source;
  }

  /** The certificate that a proxy needs; null for one without an identity that this control plane can certify. */
  orderFor(proxy: DataplaneProxy): CertificateOrder | null {
    const identity = certifiedIdentity(this.#index, proxy);
    const provider = identity === null ? null : providerOf(identity.resource.spec);
    if (identity === null || provider?.kind !== 'bundled') return null;
    const { spiffeId, resource } = identity;
    const authority = textOf(resource.status['authority']);
    return { mesh: this.#index.mesh, identity: resource.name, spiffeId, authority, lifetimeMs: provider.lifetimeMs };
  }

  /** Why the token of a proxy does not permit the identity of a Dataplane; null if it does, and for one without an identity. */
  refusesIdentity(proxy: DataplaneProxy, permit: ProxyPermit): string | null {
    const identity = certifiedIdentity(this.#index, proxy);
    return identity === null
      ? null
      : permit.refusesIdentity(proxy.resource, decidingLabels(parseMeshIdentity(identity.resource)));
  }

  /** Takes the certificate that is there. The last one stays while another is issued. */
  certify(connected: ConnectedProxy): void {
    const { proxy, certified } = connected;
    const { name } = proxy.resource;
    const wanted = this.orderFor(proxy);
    const refusal = wanted === null ? null : this.refusesIdentity(proxy, connected.permit);
    const kept = 'The proxy gets no certificate of it, and keeps what it has';
    connected.view.setRefusal('identity', refusal === null ? null : `${refusal}. ${kept}`);
    const order = refusal === null ? wanted : connected.order;
    if (refusal !== null && order === null) return;
    connected.order = order;
    if (order === null) {
      if (certified !== null) this.#source.release({ mesh: this.#index.mesh, name });
      if (certified !== null) connected.certified = null;
      return;
    }
    const leaf = this.#source.get({ mesh: order.mesh, name }, order);
    const identity = (refusal === null ? certifiedIdentity(this.#index, proxy)?.kri : certified?.identity) ?? '';
    if (leaf === null || (leaf === certified?.leaf && identity === certified.identity)) return;
    const keys = new Map([[identity, new KeyPair(leaf)]]);
    connected.certified = { identity, leaf, secret: this.#parts.encode({ ...emptyConfig(), keys }) };
  }
}
