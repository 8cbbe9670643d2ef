// Secrets for token tests: RSA keys generated once for each process, stored in the form of the control plane.
import { createPublicKey, generateKeyPairSync, randomUUID, type KeyObject } from 'node:crypto';
import { following } from '../support/following.ts';
import type { TokenRealm } from '../../src/token/token-realm.ts';
import { TokenSecrets } from '../../src/token/token-secrets.ts';
import { TinyStore } from '../support/tiny-store.ts';

export type Pair = { readonly privateKey: KeyObject; readonly privatePem: string; readonly publicPem: string };

const pairs = new Map<string, Pair>();

/** The same pair for the same name. */
export function pairOf(name: string): Pair {
  const known = pairs.get(name);
  if (known !== undefined) return known;
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const pair = {
    privateKey,
    privatePem: privateKey.export({ type: 'pkcs1', format: 'pem' }).toString(),
    publicPem: createPublicKey(privateKey).export({ type: 'pkcs1', format: 'pem' }).toString(),
  };
  pairs.set(name, pair);
  return pair;
}

export function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}

/** Writes the secret `name` of a realm. */
export async function putSecret(
  store: TinyStore,
  { secretType, mesh }: Pick<TokenRealm, 'secretType' | 'mesh'>,
  name: string,
  text: string,
): Promise<void> {
  await store.write({ op: 'put', key: { type: secretType, mesh, name }, labels: {}, spec: { data: base64(text) } });
}

/** Writes a signing key (its public half for a realm of public keys). */
export async function putKey(store: TinyStore, realm: TokenRealm, kid: string, pair = pairOf(realm.kind + kid)): Promise<void> {
  const name = kid === '0' ? realm.keyName : `${realm.keyName}-${kid}`;
  await putSecret(store, realm, name, realm.holds === 'private' ? pair.privatePem : pair.publicPem);
}

export async function revoke(store: TinyStore, realm: TokenRealm, ...ids: readonly string[]): Promise<void> {
  await putSecret(store, realm, realm.revocations, ids.join(','));
}

/** A TinyStore that counts its reads, and lets a test delay or fail them. */
export class CountingStore extends TinyStore {
  reads = 0;
  beforeRead: () => Promise<void> = () => Promise.resolve();

  override async get(...args: Parameters<TinyStore['get']>): ReturnType<TinyStore['get']> {
    this.reads++;
    const row = await super.get(...args);
    await this.beforeRead();
    return row;
  }

  override async list(...args: Parameters<TinyStore['list']>): ReturnType<TinyStore['list']> {
    this.reads++;
    const rows = await super.list(...args);
    await this.beforeRead();
    return rows;
  }
}

/** Secrets that follow the feed of the store until `signal` aborts; resolves once they do. */
export async function followedSecrets(store: TinyStore, signal: AbortSignal, federated = false): Promise<TokenSecrets> {
  const secrets = new TokenSecrets({ store, federated });
  const ready = new Promise<void>((resolve) => secrets.follow('user', resolve));
  void secrets.run(following, signal);
  await ready;
  await settled();
  return secrets;
}

/** Lets hints and their consequences settle. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/** The claims of every token, valid at `now` for an hour. */
export function timesAt(now: Date): { jti: string; iat: number; nbf: number; exp: number } {
  const seconds = Math.floor(now.getTime() / 1000);
  return { jti: randomUUID(), iat: seconds - 5, nbf: seconds - 5, exp: seconds + 3600 };
}

/** The decoded content of a part of a token. */
export function partOf(token: string, index: 0 | 1): Record<string, unknown> {
  return JSON.parse(Buffer.from(token.split('.')[index] ?? '', 'base64url').toString('utf8')) as Record<string, unknown>;
}
