// The certificates that a proxy shows and the authorities that it trusts (xds 6). Pure. A proxy has TLS when it has a MeshIdentity whose trust domain is
// trusted; without one its configuration is in plain text.
import { bundleId } from '../identity/authority-id.ts';
import { trustBundles, type TrustBundle } from '../identity/trust-bundles.ts';
import type { DataplaneProxy } from '../policy/dataplane-proxy.ts';
import type { MeshIndex } from '../policy/mesh-index.ts';
import { proxyIdentity, type ProxyIdentity } from '../policy/proxy-identity.ts';
import { mayDemandTls } from '../policy/demanded-tls.ts';
import { textOf } from '../resource/read-json.ts';
import type { JsonObject } from '../resource/types.ts';
import { inlineText } from './key-pair.ts';
import { FROM_ADS, typed } from '../envoy/proto-json.ts';

/** As a MeshTLS has them. */
type TlsBounds = {
  readonly tlsVersion?: { readonly min?: string; readonly max?: string } | undefined;
  readonly tlsCiphers?: readonly string[] | undefined;
};

/** The secret that holds the trusted authorities of the mesh. */
export const TRUST_BUNDLE = 'system_trust_bundle';
/** The ALPN protocol between proxies: by it a permissive listener recognises clients with an identity (xds 6). */
export const MESH_ALPN = 'kuma';

export type ProxyTls = {
  /** Name of the secret with the certificate: the KRI of the MeshIdentity. */
  readonly identity: string;
  /** Trust domains from which clients come. */
  readonly trustDomains: readonly string[];
  /** No proxy with an identity calls this one in plain text, or it demands TLS already: its inbounds may demand it. */
  readonly maySayStrict: boolean;
};

/** The identity of a proxy that can have a certificate: its trust domain is trusted in the mesh. */
export function certifiedIdentity(index: MeshIndex, proxy: DataplaneProxy): ProxyIdentity | null {
  const identity = proxyIdentity(index, proxy);
  if (identity === null) return null;
  return meshTrust(index).some(({ trustDomain }) => trustDomain === identity.trustDomain) ? identity : null;
}

/** Null for a proxy without an identity. */
export function proxyTls(index: MeshIndex, proxy: DataplaneProxy): ProxyTls | null {
  const identity = certifiedIdentity(index, proxy);
  if (identity === null) return null;
  return {
    identity: identity.kri,
    trustDomains: meshTrust(index).map(({ trustDomain }) => trustDomain),
    maySayStrict: mayDemandTls(index, proxy),
  };
}

/** Whether a server with this SPIFFE ID has a certificate that the mesh trusts. */
export function isTrusted(index: MeshIndex, spiffeId: string): boolean {
  return meshTrust(index).some(({ trustDomain }) => spiffeId.startsWith(`spiffe://${trustDomain}/`));
}

/** The Secret with the trusted authorities; null in a mesh without a MeshTrust. */
export function trustBundleSecret(index: MeshIndex): JsonObject | null {
  const bundles = meshTrust(index);
  if (bundles.length === 0) return null;
  const trustDomains = bundles.map(({ trustDomain, pem }) => ({ name: trustDomain, trustBundle: inlineText(pem) }));
  const config = typed('extensions.transport_sockets.tls.v3.SPIFFECertValidatorConfig', { trustDomains });
  const customValidatorConfig = { name: 'envoy.tls.cert_validator.spiffe', typedConfig: config };
  return { name: TRUST_BUNDLE, validationContext: { customValidatorConfig } };
}

/** The transport socket of an inbound. @param params TLS versions and ciphers @param clients matchers of their SPIFFE IDs */
export function serverSocket({ identity }: ProxyTls, params: JsonObject | null, clients: JsonObject[]): JsonObject {
  const context = { commonTlsContext: commonContext(identity, clients, params), requireClientCertificate: true };
  return socket('DownstreamTlsContext', context);
}

/** The clients from the trust domains of the mesh. */
export function meshClients({ trustDomains }: ProxyTls): JsonObject[] {
  return trustDomains.map((name) => ({ sanType: 'URI', matcher: { prefix: `spiffe://${name}/` } }));
}

/**
 * The versions and ciphers that a client offers: all that its servers may demand, now or after a change of MeshTLS. A server chooses from
 * them as MeshTLS says, so a change of MeshTLS is in force with each server, in any order (decision 52).
 */
export function offeredParams({ tlsVersion }: TlsBounds): JsonObject {
  const bounds = Object.values(tlsVersion ?? {}).map((given) => VERSIONS.indexOf(given));
  const lowest = Math.min(USUAL_VERSION, ...bounds.filter((at) => at !== -1));
  return {
    ...version('tlsMinimumProtocolVersion', VERSIONS[lowest]),
    tlsMaximumProtocolVersion: 'TLSv1_3',
    ...(lowest < USUAL_VERSION && { cipherSuites: [...USUAL_CIPHERS, ...OLD_CIPHERS] }),
  };
}

/** The transport socket of a cluster. @param ids the SPIFFE IDs of which a server must have one */
export function clientSocket(
  { identity }: Pick<ProxyTls, 'identity'>,
  { ids, sni, params }: { ids: readonly string[]; sni: string; params: JsonObject | null },
): JsonObject {
  const sans = ids.map((exact) => ({ sanType: 'URI', matcher: { exact } }));
  const commonTlsContext = { ...commonContext(identity, sans, params), alpnProtocols: [MESH_ALPN] };
  return socket('UpstreamTlsContext', { commonTlsContext, sni });
}

/** Versions of TLS as policies write them, the lowest first. */
const VERSIONS = ['TLS10', 'TLS11', 'TLS12', 'TLS13'];
/** Without a configured version, the lowest that Envoy offers, and the highest that a client of it offers. */
const USUAL_VERSION = VERSIONS.indexOf('TLS12');
/** Ciphers of 1.2 that Envoy offers by itself: those that MeshTLS can name. */
const USUAL_CIPHERS = ['AES128-GCM-SHA256', 'CHACHA20-POLY1305', 'AES256-GCM-SHA384'].flatMap((cipher) => [
  `ECDHE-ECDSA-${cipher}`,
  `ECDHE-RSA-${cipher}`,
]);
/** Ciphers of versions below 1.2, of which Envoy offers none by itself. MeshTLS can name ciphers of 1.2 alone. */
const OLD_CIPHERS = ['AES128-SHA', 'AES256-SHA'].flatMap((cipher) => [`ECDHE-ECDSA-${cipher}`, `ECDHE-RSA-${cipher}`, cipher]);

/**
 * `{tlsParams}` of versions and ciphers; null where they say nothing. A bound that is not given follows the given one over the default of
 * Envoy, because an empty range refuses every handshake. With ciphers the highest version is 1.2 where none is given.
 */
export function tlsParams({ tlsVersion, tlsCiphers = [] }: TlsBounds): JsonObject | null {
  const { min, max } = tlsVersion ?? {};
  const [lowest = -1, highest = -1] = [min, max].map((given) => VERSIONS.indexOf(given ?? ''));
  const isOld = highest !== -1 && highest < USUAL_VERSION;
  // Ciphers of 1.2 say nothing about 1.3, which clients prefer.
  const isOfCiphers = highest === -1 && lowest <= USUAL_VERSION && tlsCiphers.length > 0;
  const cipherSuites = [...tlsCiphers, ...(isOld ? OLD_CIPHERS : [])];
  const params = {
    ...version('tlsMinimumProtocolVersion', lowest === -1 && isOld ? max : min),
    ...version('tlsMaximumProtocolVersion', isOfCiphers ? 'TLS12' : highest === -1 && lowest > USUAL_VERSION ? min : max),
    ...(cipherSuites.length > 0 && { cipherSuites }),
  };
  return Object.keys(params).length === 0 ? null : params;
}

/** Id of the content of `trustBundleSecret`. */
export function trustedBundle(index: MeshIndex): string {
  return trustedIn(index).id;
}

type Trusted = { readonly bundles: readonly TrustBundle[]; readonly id: string };

const remembered = new WeakMap<MeshIndex, { readonly revision: string } & Trusted>();

function meshTrust(index: MeshIndex): readonly TrustBundle[] {
  return trustedIn(index).bundles;
}

/** Read once for each change of a MeshTrust. */
function trustedIn(index: MeshIndex): Trusted {
  const revision = index.revisionOf('MeshTrust');
  const known = remembered.get(index);
  if (known?.revision === revision) return known;
  const bundles = trustBundles(index.resources('MeshTrust'));
  const trusted = { revision, bundles, id: bundleId(bundles) };
  remembered.set(index, trusted);
  return trusted;
}

function commonContext(identity: string, matchTypedSubjectAltNames: JsonObject[], params: JsonObject | null): JsonObject {
  return {
    ...(params !== null && { tlsParams: withEcdsa(params) }),
    tlsCertificateSdsSecretConfigs: [{ name: identity, sdsConfig: FROM_ADS }],
    combinedValidationContext: {
      defaultValidationContext: { ...(matchTypedSubjectAltNames.length > 0 && { matchTypedSubjectAltNames }) },
      validationContextSdsSecretConfig: { name: TRUST_BUNDLE, sdsConfig: FROM_ADS },
    },
  };
}

/** Certificates are ECDSA here, and RSA in zones of Kuma: a cipher for RSA also allows the one for ECDSA. */
function withEcdsa({ cipherSuites, ...versions }: JsonObject): JsonObject {
  if (!Array.isArray(cipherSuites)) return versions;
  const forEcdsa = cipherSuites.map((cipher) => textOf(cipher).replace(/^ECDHE-RSA-/, 'ECDHE-ECDSA-'));
  return { ...versions, cipherSuites: [...new Set([...cipherSuites, ...forEcdsa])] };
}

function socket(context: string, config: JsonObject): JsonObject {
  const typedConfig = typed(`extensions.transport_sockets.tls.v3.${context}`, config);
  return { name: 'envoy.transport_sockets.tls', typedConfig };
}

/** `TLS12` → `TLSv1_2`. Envoy chooses where it is `TLSAuto`. */
function version(key: string, given: unknown): JsonObject {
  const [, minor] = /^TLS1([0-3])$/.exec(textOf(given)) ?? [];
  return minor === undefined ? {} : { [key]: `TLSv1_${minor}` };
}
