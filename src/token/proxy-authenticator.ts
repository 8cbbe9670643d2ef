// Decides whether a proxy may connect as the Dataplane that it names (xds 1). Invariant: a token admits no proxy of another mesh, and
// none whose name, tags or workload differ from those in the token.
import { label } from '../resource/labels.ts';
import { PERMITS_ALL, type ProxyDataplane, type ProxyPermit } from '../resource/proxy-permit.ts';
import type { DataplaneClaims } from './token-claims.ts';
import type { TokenVerifier } from './token-verifier.ts';
import { identityMisfitOf, misfitOf, neededOptions, otherNameIn } from './dataplane-misfit.ts';
import { quote } from './quoted-text.ts';
import { TokenWatch, type TokenWatchOptions } from './token-watch.ts';

/** The value of `dpServer.authn.dpProxy.type`; with `none` tokens are not checked. */
type ProxyAuthType = 'dpToken' | 'none';

/** A token with which a proxy came in; `text` is a secret. */
export type ProxyToken = Subject & { readonly text: string; readonly expiresAt: Date };

/** The Dataplane in a message. */
type Subject = { readonly mesh: string; readonly name: string; readonly workload: string; readonly options: string };

export type ProxyAuthentication =
  | { readonly ok: true; readonly token: ProxyToken | null; readonly permit: ProxyPermit }
  /** With `unauthenticated` the token does not count. With `forbidden` it is good, and for another Dataplane. */
  | { readonly ok: false; readonly code: 'unauthenticated' | 'forbidden'; readonly reason: string };

export class ProxyAuthenticator {
  readonly #verifier: Pick<TokenVerifier, 'dataplane'>;
  readonly #type: ProxyAuthType;

  constructor(verifier: Pick<TokenVerifier, 'dataplane'>, type: ProxyAuthType) {
    this.#verifier = verifier;
    this.#type = type;
  }

  /**
   * Decides on one stream. Rejects with MeridianError `unavailable` while the store cannot be read.
   * @param authorization all values of the metadata `authorization`: the token, with or without `Bearer`
   */
  async authenticate(authorization: readonly string[], dataplane: ProxyDataplane): Promise<ProxyAuthentication> {
    return await this.#check(authorization, dataplane, (claims) => refusalOf(claims, dataplane));
  }

  /**
   * Decides whether a Dataplane may be asked for that perhaps does not exist: the token counts, and is for its mesh and its name.
   * Rejects as `authenticate` does.
   */
  async identify(
    authorization: readonly string[],
    dataplane: Pick<ProxyDataplane, 'mesh' | 'name'>,
  ): Promise<ProxyAuthentication> {
    const subject = subjectOf({ ...dataplane, labels: {} });
    return await this.#check(authorization, { ...dataplane, labels: {} }, (claims) => {
      const reason = otherNameIn(claims, dataplane);
      return reason === null ? null : proxyTokenRefusal(subject, reason);
    });
  }

  async #check(
    authorization: readonly string[],
    dataplane: Pick<ProxyDataplane, 'mesh' | 'name' | 'labels'>,
    refuses: (claims: DataplaneClaims) => string | null,
  ): Promise<ProxyAuthentication> {
    if (this.#type === 'none') return { ok: true, token: null, permit: PERMITS_ALL };
    const subject = subjectOf(dataplane);
    const unauthenticated = (reason: string): ProxyAuthentication => ({ ok: false, code: 'unauthenticated', reason });
    const given = authorization.filter((value) => value.trim() !== '');
    if (given.length === 0) return unauthenticated(`the proxy of ${describe(subject)} sent no token. ${howToGet(subject)}`);
    if (given.length > 1) return unauthenticated(`the proxy of ${describe(subject)} sent more than one authorization`);
    const text = (given[0] ?? '').trim().replace(/^Bearer +/i, '');
    const outcome = await this.#verifier.dataplane(text, dataplane.mesh);
    if (!outcome.ok) return unauthenticated(proxyTokenRefusal(subject, outcome.reason));
    const reason = refuses(outcome.claims);
    if (reason !== null) return { ok: false, code: 'forbidden', reason };
    return { ok: true, token: { ...subject, text, expiresAt: outcome.expiresAt }, permit: permitOf(outcome.claims) };
  }
}

/** The permissions of a good token, for as long as its stream is open. */
export function permitOf(claims: DataplaneClaims): ProxyPermit {
  return {
    refusesDataplane: (dataplane) => refusalOf(claims, dataplane),
    refusesIdentity: (dataplane, keys) => {
      const reason = identityMisfitOf(claims, dataplane, keys);
      return reason === null ? null : proxyTokenRefusal(subjectOf(dataplane, neededOptions(claims, dataplane, keys)), reason);
    },
  };
}

function refusalOf(claims: DataplaneClaims, dataplane: ProxyDataplane): string | null {
  const reason = misfitOf(claims, dataplane);
  return reason === null ? null : proxyTokenRefusal(subjectOf(dataplane, neededOptions(claims, dataplane)), reason);
}

function subjectOf({ mesh, name, labels }: Pick<ProxyDataplane, 'mesh' | 'name' | 'labels'>, options = ''): Subject {
  return { mesh, name, workload: labels[label.workload] ?? '', options };
}

/** Ends the streams of proxies whose token no longer counts. Run it. */
export function watchProxyTokens({
  verifier,
  ...options
}: Pick<TokenWatchOptions<ProxyToken>, 'secrets' | 'clock'> & {
  readonly verifier: Pick<TokenVerifier, 'dataplane'>;
}): TokenWatch<ProxyToken> {
  return new TokenWatch<ProxyToken>({
    ...options,
    kind: 'dataplane',
    check: ({ text, mesh }) => verifier.dataplane(text, mesh),
    explain: proxyTokenRefusal,
  });
}

/**
 * The reason why the token of a proxy does not count, and the command to get another.
 * @param reason a predicate after «the token …»
 */
function proxyTokenRefusal(subject: Subject, reason: string): string {
  return `the token of ${describe(subject)} ${reason}. ${howToGet(subject)}`;
}

/** The command has valid names alone, because people copy it to a shell. */
function howToGet({ mesh, name, workload, options }: Subject): string {
  const command = 'meridian generate dataplane-token';
  if (![mesh, name, workload].every((text) => SAFE.test(text)) || !SAFE_OPTIONS.test(options)) return `Get one with ${command}`;
  const ofWorkload = workload === '' ? '' : ` --workload ${workload}`;
  return `Get one with: ${command} --mesh ${mesh} --name ${name}${ofWorkload}${options} --valid-for 720h`;
}

function describe({ mesh, name }: Subject): string {
  return `Dataplane ${quote(name)} of mesh ${quote(mesh)}`;
}

const SAFE = /^[\w.-]{0,253}$/;
const SAFE_OPTIONS = /^[\w./= -]{0,1000}$/;
