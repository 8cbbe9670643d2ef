// The token checks of this process, built from the configuration: for REST callers, issuers and joining zones (rest-api 5, D31).
import { readFile } from 'node:fs/promises';
import { tokenAccess, type Access } from '../http/access.ts';
import type { Clock } from '../base/clock.ts';
import type { Config } from '../base/config.ts';
import { MeridianError, messageOf } from '../base/errors.ts';
import type { ResourceStore } from '../store/resource-store.ts';
import type { StaticKey } from '../token/key-set.ts';
import { TokenIssuer } from '../token/token-issuer.ts';
import { tokenRoutes, type TokenRoute } from '../token/token-routes.ts';
import { TokenSecrets } from '../token/token-secrets.ts';
import { TokenVerifier } from '../token/token-verifier.ts';

export type Tokens = {
  /** Follow the feed with `run`; without it every check reads the store. */
  readonly secrets: TokenSecrets;
  readonly verifier: TokenVerifier;
  readonly access: Access;
  readonly routes: readonly TokenRoute[];
};

/** @throws MeridianError `config` if the file of a public key is unreadable */
export async function createTokens(store: ResourceStore, config: Config, federated: boolean, clock: Clock): Promise<Tokens> {
  const { authn } = config.apiServer;
  const { zoneProxy, dpProxy } = config.dpServer.authn;
  const keys = async (section: string, { publicKeys }: { publicKeys: readonly ConfiguredKey[] }): Promise<StaticKey[]> =>
    await Promise.all(publicKeys.map((key, index) => readKey(`${section}.validator.publicKeys[${String(index)}]`, key)));
  const [user, zone, dataplane] = await Promise.all([
    keys('apiServer.authn.tokens', authn.tokens.validator),
    keys('dpServer.authn.zoneProxy.zoneToken', zoneProxy.zoneToken.validator),
    keys('dpServer.authn.dpProxy.dpToken', dpProxy.dpToken.validator),
  ]);
  const secrets = new TokenSecrets({ store, federated, publicKeys: { user, zone, dataplane } });
  const now = (): Date => clock.now();
  const verifier = new TokenVerifier(secrets, now);
  const enabled = {
    user: authn.tokens.enableIssuer,
    zone: zoneProxy.zoneToken.enableIssuer,
    dataplane: dpProxy.dpToken.enableIssuer,
  };
  return {
    secrets,
    verifier,
    access: tokenAccess(authn, verifier, secrets, config.access.static),
    routes: tokenRoutes(new TokenIssuer(secrets, now), enabled),
  };
}

type ConfiguredKey = { readonly kid: string; readonly key: string; readonly keyFile: string };

async function readKey(field: string, { kid, key, keyFile }: ConfiguredKey): Promise<StaticKey> {
  if ((key === '') === (keyFile === '')) throw new MeridianError('config', `${field}: give either key or keyFile, in PEM`);
  if (keyFile === '') return { kid, key };
  const text = await readFile(keyFile, 'utf8').catch((cause: unknown) => {
    throw new MeridianError('config', `${field}.keyFile: ${keyFile} cannot be read: ${messageOf(cause)}`, { cause });
  });
  return { kid, key: text };
}
