// Tells the control planes that a proxy is being stopped, so that no new requests are sent to it, and later that it has ended. Invariant:
// no failure here holds up the end of the proxy for long.
import type { Clock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { ControlPlaneAddress } from './control-plane-address.ts';
import { post } from './post.ts';

type Farewell = {
  readonly addresses: readonly ControlPlaneAddress[];
  readonly ca: string;
  readonly mesh: string;
  readonly name: string;
  /** Name of the bootstrap, from its metadata. */
  readonly run: string;
  readonly token: string;
};

/** For all control planes together. */
const LIMIT_MS = 3_000;

/** Asks one control plane after the other until one has taken it. */
export async function sayLeave(
  { addresses, ca, ...proxy }: Farewell,
  state: 'draining' | 'ended',
  { clock, log }: { readonly clock: Clock; readonly log: Logger },
): Promise<void> {
  const { token, ...named } = proxy;
  const late = new AbortController();
  const cancel = clock.after(LIMIT_MS, () => late.abort());
  const body = JSON.stringify({ ...named, dataplaneToken: token, state });
  const reasons: string[] = [];
  try {
    for (const { url, host } of addresses) {
      const answer = await post(`${url}/leave`, { host, ca, body, signal: late.signal }).catch((error: unknown) =>
        messageOf(error),
      );
      if (typeof answer !== 'string' && answer.status < 300) return;
      reasons.push(typeof answer === 'string' ? `${url}: ${answer}` : `${url} answers ${String(answer.status)}: ${answer.text}`);
    }
  } finally {
    cancel();
  }
  log.warn(
    { state, reason: reasons.join('; ') },
    'no control plane knows that the proxy stops; they notice it by its stream, a little later',
  );
}
