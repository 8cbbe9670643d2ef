// The certificate authorities that a mesh trusts, by trust domain, from its MeshTrusts (xds 6). Pure. Invariant: a trust domain occurs
// once, because Envoy refuses a bundle that names one twice.
import { X509Certificate } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { compareText } from '../base/compare-text.ts';
import { objectOf, objectsOf, textOf } from '../resource/read-json.ts';
import type { Resource } from '../resource/types.ts';

export type TrustBundle = {
  readonly trustDomain: string;
  /** PEM of all certificates, each once. */
  readonly pem: string;
};

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]*-----END CERTIFICATE-----/g;

/** The bundles sorted by trust domain. Texts that hold no certificate are left out, and so are trust domains without one. */
export function trustBundles(trusts: Iterable<Pick<Resource, 'spec'>>): TrustBundle[] {
  const found = new Map<string, Set<string>>();
  for (const { spec } of trusts) {
    const domain = textOf(spec['trustDomain']);
    if (domain === '') continue;
    const known = found.get(domain) ?? new Set<string>();
    for (const pem of certificatesIn(spec['caBundles'])) known.add(pem);
    if (known.size > 0) found.set(domain, known);
  }
  return [...found]
    .map(([trustDomain, pems]) => ({ trustDomain, pem: [...pems].sort(compareText).join('') }))
    .sort((a, b) => compareText(a.trustDomain, b.trustDomain));
}

/** The certificates of a `caBundles`, in PEM of one form. */
export function certificatesIn(caBundles: unknown): string[] {
  return objectsOf(caBundles).flatMap(({ pem }) => {
    const texts = textOf(objectOf(pem)['value']).match(CERTIFICATE) ?? [];
    return texts.flatMap((text) => certificates.memo(text));
  });
}

/** Parsing costs more than looking up: the same few authorities are read with each change. */
const certificates = new LRUCache<string, readonly string[]>({ max: 1_000, memoMethod: readable });

function readable(text: string): string[] {
  try {
    return [new X509Certificate(text).toString()];
  } catch {
    return [];
  }
}
