// Certificates and keys in PEM that go to an Envoy: it refuses a resource as a whole for one that it cannot read (policies 2.8). The checks
// are as strict as those of Envoy 1.40 or stricter. Pure.
import { createPrivateKey, X509Certificate, type KeyObject } from 'node:crypto';
import { LRUCache } from 'lru-cache';

const BEGIN = /^-----BEGIN /gm;
const BLOCK = /^-----BEGIN ([A-Z0-9 ]+)-----([A-Za-z0-9+/=\s]*)-----END ([A-Z0-9 ]+)-----/gm;
const PRIVATE_KEY = 'PRIVATE KEY';
const MIN_RSA_BITS = 2048;
/** Curves of keys with which Envoy shows a certificate. */
const CURVES = new Set(['prime256v1', 'secp384r1', 'secp521r1']);

/** `id-ecPublicKey` in DER. Its parameters follow: an identifier for a named curve (RFC 5480 section 2.1.1). */
const EC_PUBLIC_KEY = Buffer.from('06072a8648ce3d0201', 'hex');
const OBJECT_IDENTIFIER = 0x06;

const NO_CERTIFICATES = 'is not a certificate in PEM form';
const NO_KEY = 'is not a private key in PEM form without a passphrase';
const KEY_BESIDE = 'holds a private key, which everyone who may read the resource could read: write the certificates alone';
const REVOCATION_LIST = 'holds a revocation list, which is not supported';
const WEAK_KEY = `has a key that Envoy refuses: RSA needs ${String(MIN_RSA_BITS)} bits, ECDSA a named curve: P-256, P-384 or P-521`;

/** Parsing costs more than looking up: the same few texts are read with each change. Characters of all texts are bounded. */
const problems = new LRUCache<string, { readonly reason: string | null }>({
  max: 1_000,
  maxSize: 8_000_000,
  sizeCalculation: (_, text) => text.length + 1,
});

/** The blocks that OpenSSL reads as certificates. */
const CERTIFICATES: ReadonlySet<string> = new Set(['CERTIFICATE', 'X509 CERTIFICATE', 'TRUSTED CERTIFICATE']);

/** The certificates of a text, without what stands beside them: a key in the same file stays where it is. */
export function certificatesOf(text: string): string {
  return blocksOf(text, (label) => CERTIFICATES.has(label)).join('');
}

/** The first private key of a text, which is the one that is read, without what stands beside it. */
export function privateKeyOf(text: string): string {
  return blocksOf(text, (label) => label.endsWith(PRIVATE_KEY))[0] ?? '';
}

/** The reason why a text of certificates must not be shown to others; null if it holds certificates alone. */
export function besideCertificatesProblem(text: string): string | null {
  return text.includes(`${PRIVATE_KEY}-----`) ? KEY_BESIDE : null;
}

function blocksOf(text: string, isMeant: (label: string) => boolean): string[] {
  return [...text.matchAll(BLOCK)].flatMap(([block, label = '']) => (isMeant(label) ? [`${block}\n`] : []));
}

/** The reason why a text cannot be a list of trusted authorities; null if it can. */
export function authoritiesProblem(text: string): string | null {
  return remembered('authorities', text, () => certificatesProblem(text));
}

/** The reason why a text cannot be a certificate to show, with those that sign it behind it; null if it can. */
export function certificateChainProblem(text: string): string | null {
  return remembered('chain', text, () => certificatesProblem(text) ?? weakKeyProblem(text));
}

/** The reason why a text cannot be a private key; null if it can. */
export function privateKeyProblem(text: string): string | null {
  return remembered('key', text, () => (reads(() => createPrivateKey(text)) ? null : NO_KEY));
}

/** Whether a key is that of the first certificate of a chain. Both can be read. */
export function isKeyOf(chain: string, key: string): boolean {
  const isPair = (): boolean => new X509Certificate(chain).checkPrivateKey(createPrivateKey(key));
  return remembered('pair', `${chain}\0${key}`, () => (isPair() ? null : NO_KEY)) === null;
}

function remembered(kind: string, text: string, find: () => string | null): string | null {
  const key = `${kind}\0${text}`;
  const known = problems.get(key) ?? { reason: find() };
  problems.set(key, known);
  return known.reason;
}

/** One unreadable part makes the whole text unreadable for Envoy. */
function certificatesProblem(text: string): string | null {
  const blocks = [...text.matchAll(BLOCK)].map(([block, label = '', , end = '']) => ({ block, label, end }));
  const isComplete = blocks.length === [...text.matchAll(BEGIN)].length && blocks.every(({ label, end }) => label === end);
  const certificates = blocks.filter(({ label }) => label === 'CERTIFICATE');
  const isReadable = certificates.every(({ block }) => reads(() => new X509Certificate(block)));
  if (!isComplete || certificates.length === 0 || !isReadable) return NO_CERTIFICATES;
  return blocks.some(({ label }) => label === 'X509 CRL') ? REVOCATION_LIST : null;
}

function weakKeyProblem(text: string): string | null {
  const { publicKey } = new X509Certificate(text);
  const { asymmetricKeyType, asymmetricKeyDetails } = publicKey;
  const { modulusLength = 0, namedCurve = '' } = asymmetricKeyDetails ?? {};
  const isStrong =
    asymmetricKeyType === 'ed25519' ||
    (asymmetricKeyType === 'rsa' && modulusLength >= MIN_RSA_BITS) ||
    (asymmetricKeyType === 'ec' && CURVES.has(namedCurve) && namesCurve(publicKey));
  return isStrong ? null : WEAK_KEY;
}

/** Envoy reads no key that gives the numbers of its curve in place of the name. Node finds the name for them. */
function namesCurve(key: KeyObject): boolean {
  const der = key.export({ type: 'spki', format: 'der' });
  const at = der.indexOf(EC_PUBLIC_KEY);
  return at !== -1 && der[at + EC_PUBLIC_KEY.length] === OBJECT_IDENTIFIER;
}

function reads(parse: () => unknown): boolean {
  try {
    parse();
    return true;
  } catch {
    return false;
  }
}
