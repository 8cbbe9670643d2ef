// The cluster of a service outside of the mesh: its endpoints by address or by DNS, and the TLS that an egress speaks to it
// (policies 2.8, xds 5). If the wanted TLS cannot be built, nothing is sent, because plain text would be a surprise.
import { authoritiesProblem, certificateChainProblem, certificatesOf, isKeyOf, privateKeyProblem } from '../base/pem.ts';
import type { MeshIndex } from '../policy/mesh-index.ts';
import { displayNameOf } from '../resource/labels.ts';
import { ownSecretPurpose } from '../resource/own-secrets.ts';
import { isObject, numberOf, objectOf, objectsOf, textMapOf, textOf } from '../resource/read-json.ts';
import type { JsonObject, Resource } from '../resource/types.ts';
import { areNamed } from './backends.ts';
import { inlineText, KeyPair } from './key-pair.ts';
import { clientKeyName } from './names.ts';
import { FROM_ADS, given, socketAddress, typed } from '../envoy/proto-json.ts';
import type { ProxyFeatures } from './proxy-features.ts';
import { tlsParams } from './proxy-tls.ts';
import type { Report } from './usable-policies.ts';

/** The key of an endpoint's metadata that chooses its TLS, where endpoints differ in it. */
const ADDRESS = 'meridian.io/address';

/** A part of a spec from which no TLS can be made. */
class Unusable extends Error {
  readonly field: string;

  constructor(field: string, reason: string) {
    super(reason);
    this.field = field;
  }
}

export type ExternalContext = {
  readonly index: MeshIndex;
  readonly features: ProxyFeatures;
  /** KRI of the service with the section of its port. */
  readonly kri: string;
  readonly report: Report;
  /** Timeouts, limits, checks and the balancer: everything but the endpoints and their TLS. */
  readonly settings: JsonObject;
};

/** @property keys what the cluster shows of itself; null if it shows nothing */
export type ExternalCluster = { readonly cluster: JsonObject; readonly keys: KeyPair | null };

/** @param name of the cluster */
export function externalCluster(name: string, service: Resource, context: ExternalContext): ExternalCluster {
  const endpoints = objectsOf(service.spec['endpoints']);
  try {
    const tls = tlsOf(service, endpoints, context);
    return { cluster: clusterOf(name, service, endpoints, tls, context), keys: tls?.keys ?? null };
  } catch (error) {
    if (!(error instanceof Unusable)) throw error;
    const field = `MeshExternalService ${displayNameOf(service)} ${error.field}`;
    context.report({ policy: null, field, reason: `${error.message}: requests are answered 503` });
    return { cluster: clusterOf(name, service, [], null, context), keys: null };
  }
}

function clusterOf(
  name: string,
  { labels }: Resource,
  endpoints: readonly JsonObject[],
  tls: ExternalTls | null,
  { kri, features, settings }: ExternalContext,
): JsonObject {
  const isStatic = !areNamed(endpoints);
  const groups = [...Map.groupBy(endpoints, ({ priority }) => numberOf(priority))].sort(([a], [b]) => a - b);
  return given({
    name,
    altStatName: kri,
    transportSocketMatches: tls === null ? undefined : tls.sockets,
    type: isStatic ? 'STATIC' : 'STRICT_DNS',
    loadAssignment: given({
      clusterName: name,
      // Envoy wants priorities without gaps. The locality keeps the number of the service.
      endpoints:
        groups.length === 0
          ? undefined
          : groups.map(([number, some], priority) => ({
              locality: { subZone: `priority-${String(number)}` },
              lbEndpoints: some.map(({ address, port }) => {
                const own = tls?.isByAddress === true ? { ...labels, [ADDRESS]: textOf(address) } : labels;
                return {
                  endpoint: { address: socketAddress(textOf(address), numberOf(port)) },
                  metadata: { filterMetadata: { 'envoy.lb': labels, 'envoy.transport_socket_match': own } },
                  loadBalancingWeight: 1,
                };
              }),
              ...(priority > 0 && { priority }),
            })),
    }),
    ...settings,
    dnsLookupFamily: isStatic || features.ipv6 ? undefined : 'V4_ONLY',
  });
}

type ExternalTls = {
  readonly sockets: JsonObject[];
  /** Endpoints of different addresses have different sockets. */
  readonly isByAddress: boolean;
  readonly keys: KeyPair | null;
};

/** Whether an egress speaks TLS to an external service. */
export function wantsTls({ spec }: Pick<Resource, 'spec'>): boolean {
  return objectOf(spec['tls'])['enabled'] === true;
}

function tlsOf({ spec }: Resource, endpoints: readonly JsonObject[], context: ExternalContext): ExternalTls | null {
  if (!wantsTls({ spec })) return null;
  const tls = objectOf(spec['tls']);
  const verification = objectOf(tls['verification']);
  const serverName = textOf(verification['serverName']);
  const addresses = [...new Set(endpoints.map(({ address }) => textOf(address)))];
  const params = tlsParams({ tlsVersion: textMapOf(tls['version']) });
  const keys = clientKeys(verification, context);
  const ownCertificate = keys === null ? undefined : [{ name: clientKeyName(context.kri), sdsConfig: FROM_ADS }];
  const isByAddress = serverName === '' && addresses.length > 1;
  const sockets = (isByAddress ? addresses : addresses.slice(0, 1)).map((address) => {
    const validationContext = validationOf(verification, serverName, address, context);
    const commonTlsContext = given({
      tlsParams: params ?? undefined,
      tlsCertificateSdsSecretConfigs: ownCertificate,
      validationContext,
    });
    const config = given({
      commonTlsContext: Object.keys(commonTlsContext).length === 0 ? undefined : commonTlsContext,
      sni: serverName === '' ? address : serverName,
      allowRenegotiation: tls['allowRenegotiation'] === true ? true : undefined,
    });
    return given({
      name: address,
      match: isByAddress ? { [ADDRESS]: address } : undefined,
      transportSocket: {
        name: 'envoy.transport_sockets.tls',
        typedConfig: typed('extensions.transport_sockets.tls.v3.UpstreamTlsContext', config),
      },
    });
  });
  return { sockets, isByAddress, keys };
}

/** The conditions on the certificate of the server; undefined if it is not checked. */
function validationOf(
  verification: JsonObject,
  serverName: string,
  address: string,
  context: ExternalContext,
): JsonObject | undefined {
  const mode = textOf(verification['mode']) || 'Secured';
  if (mode === 'SkipCA' || mode === 'SkipAll') return undefined;
  const caCert = verification['caCert'];
  const trustedCa = isObject(caCert) ? inlineText(authorities(caCert, context)) : systemCa(context.features);
  if (mode === 'SkipSAN') return { trustedCa };
  const written = objectsOf(verification['subjectAltNames']).map(({ type, value }) =>
    type === 'Prefix' ? { prefix: textOf(value) } : { exact: textOf(value) },
  );
  const own = serverName === '' ? [] : [{ exact: serverName }];
  const names: JsonObject[][] = [own, written].filter((some) => some.length > 0);
  const wanted = names.length > 0 ? names : [[{ exact: address }]];
  const matchTypedSubjectAltNames = wanted.flatMap((some) =>
    ['DNS', 'IP_ADDRESS'].flatMap((sanType) => some.map((matcher) => ({ sanType, matcher }))),
  );
  return { trustedCa, matchTypedSubjectAltNames };
}

function systemCa({ systemCa: filename }: ProxyFeatures): JsonObject {
  if (filename === null)
    throw new Unusable('spec.tls.verification.caCert', 'is not given, and the proxy names no file of authorities');
  return { filename };
}

function authorities(caCert: JsonObject, context: ExternalContext): string {
  const field = 'spec.tls.verification.caCert';
  return certificatesOf(usable(field, textFrom(caCert, field, context), authoritiesProblem));
}

function clientKeys({ clientCert, clientKey }: JsonObject, context: ExternalContext): KeyPair | null {
  if (!isObject(clientCert) || !isObject(clientKey)) return null;
  const [ofCertificate, ofKey] = ['spec.tls.verification.clientCert', 'spec.tls.verification.clientKey'];
  const chain = usable(ofCertificate, textFrom(clientCert, ofCertificate, context), certificateChainProblem);
  const key = usable(ofKey, textFrom(clientKey, ofKey, context), privateKeyProblem);
  if (!isKeyOf(chain, key)) throw new Unusable(ofKey, 'is not the key of clientCert');
  return new KeyPair({ certPem: chain, keyPem: key });
}

/** Envoy would refuse the cluster, and keep an older one, which may speak plain text. */
function usable(field: string, text: string, problemOf: (text: string) => string | null): string {
  const problem = problemOf(text);
  if (problem !== null) throw new Unusable(field, problem);
  return text;
}

/** A certificate or a key, also in the older forms that peers may send. */
function textFrom(source: JsonObject, field: string, { index }: ExternalContext): string {
  const { insecureInline, secretRef, inline, inlineString, secret } = source;
  if (isObject(insecureInline)) return textOf(insecureInline['value']);
  if (inlineString !== undefined) return textOf(inlineString);
  if (typeof inline === 'string') return decoded(inline);
  const name = textOf(isObject(secretRef) ? secretRef['name'] : secret);
  const purpose = ownSecretPurpose(name, (type, other) => index.get(type, other) !== undefined);
  if (purpose !== null) throw new Unusable(field, `names the Secret ${JSON.stringify(name)} of the control plane: ${purpose}`);
  const data = index.get('Secret', name)?.spec['data'];
  if (typeof data !== 'string') throw new Unusable(field, `names the Secret ${JSON.stringify(name)}, which does not exist`);
  return decoded(data);
}

function decoded(base64: string): string {
  return Buffer.from(base64, 'base64').toString();
}
