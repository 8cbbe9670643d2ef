// The certificate authority of a MeshIdentity by its spec, and the Secrets in which a zone stores it (xds 6).
import { parseGoDuration } from '../base/duration.ts';
import { AUTHORITY_CERTIFICATE, AUTHORITY_KEY } from '../resource/own-secrets.ts';
import { objectOf, textOf } from '../resource/read-json.ts';
import type { JsonObject, ResourceKey } from '../resource/types.ts';

const DAY_MS = 86_400_000;
/** Certificates of proxies are short-lived: nothing revokes them. */
const DEFAULT_LIFETIME_MS = DAY_MS;
const MIN_LIFETIME_MS = 1_000;

/** The provider of a MeshIdentity. */
type IdentityProvider =
  | {
      readonly kind: 'bundled';
      /** The control plane makes the authority. */
      readonly generates: boolean;
      /** A MeshTrust is made of the authority. */
      readonly makesTrust: boolean;
      /** Life of a certificate in milliseconds. */
      readonly lifetimeMs: number;
    }
  /** This control plane issues no certificates for it. */
  | { readonly kind: 'unsupported'; readonly reason: string };

/** @param spec the spec of the MeshIdentity */
export function providerOf(spec: JsonObject): IdentityProvider {
  const provider = objectOf(spec['provider']);
  const type = textOf(provider['type']);
  if (type !== 'Bundled')
    return { kind: 'unsupported', reason: `provider ${type === '' ? 'none' : type} is not supported: use provider Bundled` };
  const bundled = objectOf(provider['bundled']);
  const expiry = textOf(objectOf(bundled['certificateParameters'])['expiry']);
  const given = expiry === '' ? null : parseGoDuration(expiry);
  return {
    kind: 'bundled',
    generates: objectOf(bundled['autogenerate'])['enabled'] === true,
    makesTrust: bundled['meshTrustCreation'] !== 'Disabled',
    lifetimeMs: Math.max(given ?? DEFAULT_LIFETIME_MS, MIN_LIFETIME_MS),
  };
}

/** The Secrets of the authority of a MeshIdentity. Kuma zones use the same names. @param name stored name of the MeshIdentity */
export function authoritySecrets(mesh: string, name: string): { readonly certificate: ResourceKey; readonly key: ResourceKey } {
  return {
    certificate: { type: 'Secret', mesh, name: `${name}${AUTHORITY_CERTIFICATE}` },
    key: { type: 'Secret', mesh, name: `${name}${AUTHORITY_KEY}` },
  };
}
