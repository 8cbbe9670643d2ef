// Decides whether a proxy may connect as the Dataplane that it names (xds 1). Invariant: a token admits no proxy of another mesh, and
// none whose name, tags or workload differ from those in the token.
import { label } from '../resource/labels.ts';
import { objectOf, textMapOf } from '../resource/read-json.ts';
import type { Resource } from '../resource/types.ts';
import type { DataplaneClaims } from './token-claims.ts';
import type { TokenVerifier } from './token-verifier.ts';
import { PROXY_TYPES } from './token-request.ts';
import { TokenWatch, type TokenWatchOptions } from './token-watch.ts';

/** `dpServer.authn.dpProxy.type`; with `none` tokens are not checked. */
export type ProxyAuthType = 'dpToken' | 'none';

/** The parts of a Dataplane that a token may name. */
export type ProxyDataplane = Pick<Resource, 'mesh' | 'name' | 'labels' | 'spec'>;

/** A token with which a proxy came in; `text` is a secret. */
export type ProxyToken = Subject & { readonly text: string; readonly expiresAt: Date };

/** The Dataplane in a message. */
type Subject = { readonly mesh: string; readonly name: string; readonly workload: string };

export type ProxyAuthentication =
  | { readonly ok: true; readonly token: ProxyToken | null }
  /** `unauthenticated`: the token does not count. `forbidden`: it is good, and for another Dataplane. */
  | { readonly ok: false; readonly code: 'unauthenticated' | 'forbidden'; readonly reason: string };

/** The type of proxy that each Dataplane is; a token may name it. */
const [PROXY_TYPE] = PROXY_TYPES;

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
    return await this.#check(authorization, dataplane, (claims) => misfitOf(claims, dataplane));
  }

  /**
   * Decides whether a Dataplane may be asked for that perhaps does not exist: the token counts, and is for its mesh and its name. Rejects
   * as `authenticate`.
   */
  async identify(
    authorization: readonly string[],
    dataplane: Pick<ProxyDataplane, 'mesh' | 'name'>,
  ): Promise<ProxyAuthentication> {
    return await this.#check(authorization, { ...dataplane, labels: {} }, (claims) => otherNameIn(claims, dataplane));
  }

  async #check(
    authorization: readonly string[],
    { mesh, name, labels }: Pick<ProxyDataplane, 'mesh' | 'name' | 'labels'>,
    misfit: (claims: DataplaneClaims) => string | null,
  ): Promise<ProxyAuthentication> {
    if (this.#type === 'none') return { ok: true, token: null };
    const subject: Subject = { mesh, name, workload: labels[label.workload] ?? '' };
    const unauthenticated = (reason: string): ProxyAuthentication => ({ ok: false, code: 'unauthenticated', reason });
    const given = authorization.filter((value) => value.trim() !== '');
    if (given.length === 0) return unauthenticated(`the proxy of ${describe(subject)} sent no token. ${howToGet(subject)}`);
    if (given.length > 1) return unauthenticated(`the proxy of ${describe(subject)} sent more than one authorization`);
    const text = (given[0] ?? '').trim().replace(/^Bearer +/i, '');
    const outcome = await this.#verifier.dataplane(text, mesh);
    if (!outcome.ok) return unauthenticated(proxyTokenRefusal(subject, outcome.reason));
    const reason = misfit(outcome.claims);
    if (reason !== null) return { ok: false, code: 'forbidden', reason: proxyTokenRefusal(subject, reason) };
    return { ok: true, token: { ...subject, text, expiresAt: outcome.expiresAt } };
  }
}

/**
 * The reason why a good token does not allow a Dataplane, as a predicate after «the token …»; null if it does. A Dataplane with a workload
 * needs a token that names it. Pure.
 */
export function misfitOf(claims: DataplaneClaims, { mesh, name, labels, spec }: ProxyDataplane): string | null {
  const other = otherNameIn(claims, { mesh, name });
  if (other !== null) return other;
  if (claims.type !== '' && claims.type !== PROXY_TYPE) return `is for a proxy of type ${quote(claims.type)}`;
  const workload = labels[label.workload] ?? '';
  if (claims.workload !== workload) {
    const own =
      workload === '' ? `the Dataplane has no label ${label.workload}` : `the Dataplane is of workload ${quote(workload)}`;
    return claims.workload === '' ? `names no workload, and ${own}` : `is for workload ${quote(claims.workload)}, and ${own}`;
  }
  return tagMisfit(claims.tags, tagsOf(spec));
}

function otherNameIn(claims: DataplaneClaims, { mesh, name }: Pick<ProxyDataplane, 'mesh' | 'name'>): string | null {
  if (claims.mesh !== mesh) return `is for mesh ${quote(claims.mesh)}`;
  if (claims.name !== '' && claims.name !== name) return `is for Dataplane ${quote(claims.name)}`;
  return null;
}

/** Each tag of the token is on the Dataplane, with no other values than the token has. */
function tagMisfit(allowed: DataplaneClaims['tags'], tags: ReadonlyMap<string, ReadonlySet<string>>): string | null {
  for (const [key, values] of Object.entries(allowed)) {
    const own = tags.get(key);
    if (own === undefined) return `asks for tag ${quote(key)}, and no inbound of the Dataplane has it`;
    const other = [...own].find((value) => !values.includes(value));
    if (other !== undefined)
      return `allows tag ${quote(key)} the values ${values.map(quote).join(', ')}, and the Dataplane has ${quote(other)}`;
  }
  return null;
}

/** The tags of all inbounds and of the gateway, each with all of its values. */
function tagsOf(spec: Resource['spec']): ReadonlyMap<string, ReadonlySet<string>> {
  const { inbound, gateway } = objectOf(spec['networking']);
  const tags = new Map<string, Set<string>>();
  for (const section of [...(Array.isArray(inbound) ? inbound : []), gateway])
    for (const [key, value] of Object.entries(textMapOf(objectOf(section)['tags'])))
      tags.set(key, (tags.get(key) ?? new Set()).add(value));
  return tags;
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

/** Why the token of a proxy does not count (again), and how to get another. @param reason a predicate after «the token …» */
function proxyTokenRefusal(subject: Subject, reason: string): string {
  return `the token of ${describe(subject)} ${reason}. ${howToGet(subject)}`;
}

/** The command has valid names alone, because people copy it to a shell. */
function howToGet({ mesh, name, workload }: Subject): string {
  const command = 'meridian generate dataplane-token';
  if (![mesh, name, workload].every((text) => SAFE.test(text))) return `Get one with ${command}`;
  const ofWorkload = workload === '' ? '' : ` --workload ${workload}`;
  return `Get one with: ${command} --mesh ${mesh} --name ${name}${ofWorkload} --valid-for 720h`;
}

function describe({ mesh, name }: Subject): string {
  return `Dataplane ${quote(name)} of mesh ${quote(mesh)}`;
}

const SAFE = /^[\w.-]{0,253}$/;
/** Characters of a name in a message: a status is short. */
const MAX_SHOWN = 63;

function quote(text: string): string {
  return JSON.stringify(text.slice(0, MAX_SHOWN).toWellFormed());
}
