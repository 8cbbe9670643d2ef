// The common part of the HTTP requests: a JSON object that names a proxy and has its token. A refusal has the status that
// Kuma's program expects, and a sentence that it prints.
import { MeridianError } from '../base/errors.ts';
import { parseJsonBody } from '../http/json-body.ts';
import { MESH_NAME } from '../writes/write-checks.ts';
import { isObject, textOf } from '../resource/read-json.ts';
import type { JsonObject } from '../resource/types.ts';
import type { ProxyAuthentication } from '../token/proxy-authenticator.ts';

export type PortAnswer = { readonly status: number; readonly type: string; readonly body: string };

/** A request that is refused, with the sentence that its sender prints. */
export class Unusable extends Error {
  readonly status: number;

  constructor(status: number, text: string) {
    super(text);
    this.status = status;
  }
}

const MAX_NAME = 253;
/** The characters of a header value. */
const TOKEN = /^[\x21-\x7e]{1,8192}$/;

/** The answer of `make`, or the refusal that it throws. */
export async function refusing(make: () => Promise<PortAnswer>): Promise<PortAnswer> {
  try {
    return await make();
  } catch (error) {
    if (error instanceof Unusable) return { status: error.status, type: 'text/plain', body: error.message };
    throw error;
  }
}

/** @throws Unusable 400 for a text that is no JSON object */
export function requestIn(body: string): JsonObject {
  let value: unknown;
  try {
    value = parseJsonBody(body);
  } catch (error) {
    if (error instanceof MeridianError) throw new Unusable(400, error.message);
    throw error;
  }
  if (!isObject(value)) throw new Unusable(400, 'the body must be a JSON object');
  return value;
}

/** @throws Unusable 422 for a name that no Dataplane can have */
export function proxyIn(request: JsonObject): { readonly mesh: string; readonly name: string } {
  return {
    mesh: nameIn(request, 'mesh', (text) => MESH_NAME.test(text)),
    name: nameIn(request, 'name', (text) => text !== '' && text.length <= MAX_NAME),
  };
}

/** @throws Unusable 422 for a text that `isName` refuses */
export function nameIn(request: JsonObject, key: string, isName: (text: string) => boolean): string {
  const text = textOf(request[key]);
  if (!isName(text)) throw new Unusable(422, `${key}: must be given, in the form that the control plane takes`);
  return text;
}

/** The token; `''` where none is given. @throws Unusable 422 for one that no header can hold, and for none where one is needed */
export function tokenIn(request: JsonObject, isNeeded: boolean): string {
  const token = textOf(request['dataplaneToken']).trim();
  if (token === '' && isNeeded)
    throw new Unusable(
      422,
      'a dataplane token is required: make one with `meridian generate dataplane-token` or `kumactl generate dataplane-token`, ' +
        'and give it with --dataplane-token-file',
    );
  if (token !== '' && !TOKEN.test(token)) throw new Unusable(422, 'dataplaneToken: must be at most 8192 visible characters');
  return token;
}

/** @throws Unusable 401 for a token that does not count, 403 for a good one of another Dataplane */
export function requireAllowed(outcome: ProxyAuthentication): void {
  if (!outcome.ok) throw new Unusable(outcome.code === 'forbidden' ? 403 : 401, outcome.reason);
}
