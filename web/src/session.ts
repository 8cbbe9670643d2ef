// Requests to the control plane that served this page. A token is sent as a header and stays in this tab. Invariant: an answer 401
// always leads to the log-in, and the page behind it stays where it was.
import { signal } from '@preact/signals';
import type { Answer } from '../../src/answers/answers.ts';
import { countAnswer } from './pace.ts';

const KEY = 'meridian-token';

/** Milliseconds from a request to the end of its answer. A connection can be dead without an error. A write or a preview takes longer. */
const LIMIT_MS = { read: 30_000, write: 180_000 };
const NO_ANSWER = 'The control plane does not answer';

/** Why a token is asked for; null while none is. */
export const loginReason = signal<string | null>(null);
/** Counts log-ins and log-outs: what was loaded before belongs to another user. */
export const logins = signal(0);

let token = sessionStorage.getItem(KEY) ?? '';

/** @property line of a document that was sent as YAML */
export type Violation = { readonly field: string; readonly reason: string; readonly line?: number };

/** A failed request, in the words of the control plane. */
export class ApiFailure extends Error {
  /** 0: there was no answer. */
  readonly status: number;
  readonly violations: readonly Violation[];

  constructor(status: number, detail: string, violations: ApiFailure['violations'] = []) {
    super(detail);
    this.status = status;
    this.violations = violations;
  }
}

export type Reply<T> = { readonly body: T; readonly etag: string | null };
export type Sending = {
  readonly method?: 'GET' | 'PUT' | 'POST' | 'DELETE';
  readonly body?: unknown;
  /** A body that is a text already, and its media type. */
  readonly text?: { readonly content: string; readonly type: string };
  /** The ETag that the resource must still have. */
  readonly ifMatch?: string | null;
  readonly signal?: AbortSignal;
  readonly accept?: string;
  /** The browser keeps the answer, and asks whether it is still so. */
  readonly isKept?: boolean;
};

export function hasToken(): boolean {
  return token !== '';
}

/** Printable ASCII characters: a header holds no others. */
const TOKEN = /^[!-~]+$/;

/** Tries the token. @throws ApiFailure if the control plane refuses it */
export async function logIn(given: string): Promise<void> {
  if (!TOKEN.test(given))
    throw new ApiFailure(400, 'The token has a character that no token has, such as a space. Copy it again');
  const headers = { authorization: `Bearer ${given}` };
  const response = await orNoAnswer(fetch('/who-am-i', { headers, signal: AbortSignal.timeout(LIMIT_MS.read) }));
  if (!response.ok) throw await failureOf(response);
  token = given;
  sessionStorage.setItem(KEY, given);
  loginReason.value = null;
  logins.value += 1;
}

export function logOut(): void {
  forgetToken();
  logins.value += 1;
}

/** The answer of a GET. @throws ApiFailure */
export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return (await ask<T>(path, signal === undefined ? {} : { signal })).body;
}

/** The answer of a GET with an ETag: one that did not change is not sent again. @throws ApiFailure */
export async function getKept<T>(path: string, signal: AbortSignal): Promise<T> {
  return (await ask<T>(path, { signal, isKept: true })).body;
}

/** @throws ApiFailure */
export async function ask<T>(path: string, sending: Sending = {}): Promise<Reply<T>> {
  const start = performance.now();
  const { text, etag } = await askText(path, sending);
  countAnswer(sending.signal, performance.now() - start);
  return { body: (text === '' ? undefined : JSON.parse(text)) as T, etag };
}

/** The whole answer, within a time. @throws ApiFailure */
export async function askText(path: string, sending: Sending): Promise<{ readonly text: string; readonly etag: string | null }> {
  const { method = 'GET', signal } = sending;
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(), method === 'GET' ? LIMIT_MS.read : LIMIT_MS.write);
  try {
    const response = await open(path, sending, limit.signal);
    return { text: await orNoAnswer(response.text(), signal), etag: response.headers.get('etag') };
  } finally {
    clearTimeout(timer);
  }
}

/** The response, its body unread. @param limit its abort means that there is no answer @throws ApiFailure */
export async function open(path: string, sending: Sending, limit?: AbortSignal): Promise<Response> {
  const { method = 'GET', body, text, ifMatch, signal, accept, isKept = false } = sending;
  const headers = new Headers({ accept: accept ?? 'application/json' });
  if (token !== '') headers.set('authorization', `Bearer ${token}`);
  if (body !== undefined || text !== undefined) headers.set('content-type', text?.type ?? 'application/json');
  if (ifMatch !== undefined && ifMatch !== null) headers.set('if-match', ifMatch);
  const ends = [signal, limit].filter((one) => one !== undefined);
  const sent: RequestInit = { method, headers, cache: isKept ? 'no-cache' : 'no-store', signal: AbortSignal.any(ends) };
  if (text !== undefined) sent.body = text.content;
  else if (body !== undefined) sent.body = JSON.stringify(body);
  const response = await orNoAnswer(fetch(path, sent), signal);
  if (response.ok) return response;
  const failure = await failureOf(response);
  if (response.status === 401) refuse(failure);
  throw failure;
}

/** @param reader its abort is no failure of the control plane @throws ApiFailure */
async function orNoAnswer<T>(answer: Promise<T>, reader?: AbortSignal): Promise<T> {
  return await answer.catch((error: unknown) => {
    if (reader?.aborted === true) throw error;
    throw new ApiFailure(0, NO_ANSWER);
  });
}

function refuse({ message }: ApiFailure): void {
  forgetToken();
  loginReason.value = message;
}

function forgetToken(): void {
  token = '';
  sessionStorage.removeItem(KEY);
}

async function failureOf(response: Response): Promise<ApiFailure> {
  const text = await response.text().catch(() => '');
  const body = readError(text);
  if (body === null) return new ApiFailure(response.status, text === '' ? `The answer was ${String(response.status)}` : text);
  return new ApiFailure(response.status, body.detail, body.invalid_parameters ?? []);
}

function readError(text: string): Answer<'Error'> | null {
  try {
    const body = JSON.parse(text) as Answer<'Error'> | null;
    return typeof body?.detail === 'string' ? body : null;
  } catch {
    return null;
  }
}
