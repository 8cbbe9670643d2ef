// The answer to `POST /leave`: a launcher says that its Envoy drains, and later that it has ended. The Dataplane that the proxy brought
// gets no new requests in between, and is removed after it.
import type { Resource } from '../resource/types.ts';
import { textOf } from '../resource/read-json.ts';
import type { ProxyAuthenticator } from '../token/proxy-authenticator.ts';
import { proxyIn, refusing, requestIn, requireAllowed, tokenIn, Unusable, type PortAnswer } from './proxy-request.ts';

/** `run` names the bootstrap with which the Envoy started: the Dataplane may belong to a newer Envoy by now. */
export type LeavingProxy = {
  readonly mesh: string;
  readonly name: string;
  readonly run: string;
  readonly state: 'draining' | 'ended';
};

export type LeaveSources = {
  readonly authenticator: Pick<ProxyAuthenticator, 'authenticate' | 'identify'>;
  readonly needsToken: boolean;
  readonly dataplane: (mesh: string, name: string) => Promise<Resource | null>;
  readonly leave: (proxy: LeavingProxy) => Promise<void>;
};

/** 204, also for a Dataplane that is not there or stays: the launcher need not know. Rejects as the store does. */
export async function answerLeave(body: string, sources: LeaveSources): Promise<PortAnswer> {
  return await refusing(async () => {
    const { authenticator, needsToken, dataplane, leave } = sources;
    const request = requestIn(body);
    const { mesh, name } = proxyIn(request);
    const token = tokenIn(request, needsToken);
    requireAllowed(await authenticator.identify([token], { mesh, name }));
    const state = (['draining', 'ended'] as const).find((one) => one === textOf(request['state']));
    if (state === undefined) throw new Unusable(422, 'state: must be draining or ended');
    const stored = await dataplane(mesh, name);
    if (stored !== null) {
      requireAllowed(await authenticator.authenticate([token], stored));
      await leave({ mesh, name, run: textOf(request['run']), state });
    }
    return { status: 204, type: 'text/plain', body: '' };
  });
}
