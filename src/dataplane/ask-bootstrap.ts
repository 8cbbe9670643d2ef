// Asks control planes for the bootstrap of a proxy until one answers. Invariant: an error that a
// person must correct ends it at once; an error that may pass never does.
import type { Clock } from '../base/clock.ts';
import { MeridianError, messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { JsonObject } from '../resource/types.ts';
import { readBootstrapAnswer } from './bootstrap.ts';
import type { ControlPlaneAddress } from './control-plane-address.ts';
import { post } from './post.ts';

export type BootstrapQuestion = {
  /** At least one. */
  readonly addresses: readonly ControlPlaneAddress[];
  /** PEM of the CA of the control planes; `''` for those that the system trusts. */
  readonly ca: string;
  readonly body: JsonObject;
};

type Context = { readonly clock: Clock; readonly log: Logger; readonly signal: AbortSignal };

const ANSWER_MS = 10_000;
const FIRST_WAIT_MS = 200;
const MAX_WAIT_MS = 5_000;
/** A Dataplane that was just written reaches another replica in this time, and the key of a new mesh its zone. */
const UNKNOWN_MS = 30_000;
const MAX_REASON = 2_000;

/** Codes of a TLS handshake that fails again next time. */
const UNTRUSTED = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_GET_ISSUER_CERT',
  'CERT_SIGNATURE_FAILURE',
]);

/**
 * Why there is no bootstrap. `unknown`: the Dataplane, its mesh or the key of its token does not exist there. `unreachable`: another
 * reason that may pass.
 */
type Failure = { readonly kind: 'unreachable' | 'unknown' | 'refused'; readonly reason: string };
type Answer = { readonly bootstrap: JsonObject } | Failure;
type Question = () => Promise<BootstrapQuestion>;

/**
 * Asks one after the other, with growing pauses, until one answers. Null when the signal aborts.
 * @param question makes the question of each attempt, whose token may be a new one
 * @throws MeridianError `config` for an answer or a certificate that a person must look at, and what the first question throws;
 * `not_found` for a Dataplane or a token that stays unknown
 */
export async function askBootstrap(question: Question, context: Context): Promise<JsonObject | null> {
  const { clock, log, signal } = context;
  // The time that followed answers of this kind: an outage does not count.
  let unknownMs = 0;
  let unknownAt: number | null = null;
  let wait = FIRST_WAIT_MS;
  let said = '';
  for (let attempt = 1; !signal.aborted; attempt += 1) {
    const answer = attempt === 1 ? await askOnce(await question(), context) : await askAgain(question, context);
    if (!('kind' in answer)) return answer.bootstrap;
    if (signal.aborted) return null;
    if (answer.kind === 'refused') throw new MeridianError('config', answer.reason);
    const now = clock.elapsed();
    unknownMs += now - (unknownAt ?? now);
    unknownAt = answer.kind === 'unknown' ? now : null;
    if (unknownAt !== null && unknownMs > UNKNOWN_MS) throw new MeridianError('not_found', answer.reason);
    if (answer.reason !== said) log.warn(`${answer.reason}; trying again until one answers`);
    said = answer.reason;
    await clock.sleep(wait * (0.5 + Math.random() / 2), signal);
    wait = Math.min(wait * 2, MAX_WAIT_MS);
  }
  return null;
}

/** A question that cannot be made now may be made later: the file of the token may be half written. */
async function askAgain(question: Question, context: Context): Promise<Answer> {
  const asked = await question().catch(messageOf);
  return typeof asked === 'string' ? { kind: 'unreachable', reason: asked } : await askOnce(asked, context);
}

/** Asks each control plane once. The first answer counts; without any, the worst failure. */
export async function askOnce(
  { addresses, ca, body }: BootstrapQuestion,
  context: Pick<Context, 'clock' | 'signal'>,
): Promise<Answer> {
  const failures: Failure[] = [];
  for (const address of addresses) {
    const answer = await ask(address, ca, JSON.stringify(body), context);
    if (!('kind' in answer) || answer.kind === 'refused') return answer;
    failures.push(answer);
  }
  const unknown = failures.find(({ kind }) => kind === 'unknown');
  return unknown ?? { kind: 'unreachable', reason: failures.map(({ reason }) => reason).join('; ') };
}

async function ask(
  { url, host }: ControlPlaneAddress,
  ca: string,
  body: string,
  { clock, signal }: Pick<Context, 'clock' | 'signal'>,
): Promise<Answer> {
  const late = new AbortController();
  const cancel = clock.after(ANSWER_MS, () => late.abort());
  try {
    const either = AbortSignal.any([signal, late.signal]);
    const { status, text } = await post(`${url}/bootstrap`, { host, ca, body, signal: either });
    if (status === 200) return { bootstrap: readBootstrapAnswer(text) };
    return failureOf(url, status, text);
  } catch (error) {
    const { code } = error as { code?: unknown };
    if (error instanceof MeridianError && code === 'bad_request') return { kind: 'refused', reason: `${url}: ${error.message}` };
    return unreachable(url, error, late.signal.aborted);
  } finally {
    cancel();
  }
}

function failureOf(url: string, status: number, text: string): Failure {
  const said = reasonIn(text);
  if (status === 404) {
    const reason = said === '' ? 'neither it nor its mesh exists there; apply it first, or give --dataplane-file' : said;
    return { kind: 'unknown', reason: `${url} does not know this Dataplane: ${reason}` };
  }
  const what = `${url} answers ${String(status)}${said === '' ? '' : `: ${said}`}`;
  // The key of a token may come later than the token, as to a zone whose mesh is new.
  if (status === 401) return { kind: 'unknown', reason: what };
  // Too many requests, or a control plane that starts.
  const mayPass = status >= 500 || status === 429 || status === 408;
  return mayPass ? { kind: 'unreachable', reason: what } : { kind: 'refused', reason: what };
}

/** The sentence of an error body: plain text, or JSON as the REST API answers. */
function reasonIn(text: string): string {
  try {
    const { detail, details, title } = JSON.parse(text) as Record<string, unknown>;
    for (const sentence of [detail, details, title]) if (typeof sentence === 'string' && sentence !== '') return sentence;
  } catch {
    // Plain text.
  }
  return text.trim().slice(0, MAX_REASON);
}

function unreachable(url: string, error: unknown, isLate: boolean): Failure {
  const { code = '' } = error as { code?: string };
  if (UNTRUSTED.has(code)) {
    const remedy = 'give the CA that signed it, or the certificate itself, with --ca-cert-file FILE';
    return { kind: 'refused', reason: `this machine does not trust the certificate of ${url} (${code}): ${remedy}` };
  }
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    const remedy = 'use one of its names in --cp-address, or issue one for this name';
    return { kind: 'refused', reason: `the certificate of ${url} is for other names (${messageOf(error)}): ${remedy}` };
  }
  const why = isLate ? `no answer within ${String(ANSWER_MS / 1_000)} s` : code || messageOf(error);
  return { kind: 'unreachable', reason: `cannot reach a control plane at ${url} (${why})` };
}
