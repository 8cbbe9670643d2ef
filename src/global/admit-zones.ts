// Applies `multizone.global.kds.auth`: adapts the check of src/token to the protocol, and logs a warning before a token expires.
import type { Host } from '../control-plane/host.ts';
import { admitAll, type AdmitZone } from '../kds/protocol/zone-access.ts';
import { expiryWarning } from '../token/zone-token-advice.ts';
import { earliestEnds, watchZoneTokens, ZoneAuthenticator } from '../token/zone-authenticator.ts';

/** The check of every call of a zone; streams end when their token is revoked, expires or loses its key. */
export function admitZones({ config, tokens, expiries, component, clock, log }: Host): AdmitZone {
  const { auth } = config.multizone.global.kds;
  if (auth.type === 'none') {
    log.warn('multizone.global.kds.auth.type is none: any client that reaches the KDS port can join as any zone');
    return admitAll;
  }
  const { secrets, verifier } = tokens;
  const authenticator = new ZoneAuthenticator(verifier, auth);
  const watch = watchZoneTokens({ secrets, verifier, clock });
  component('zone tokens', (signal) => watch.run(signal));
  expiries.zoneTokens(() => earliestEnds(watch.tokens()));
  const warned = new Map<string, string>();
  return async (authorization, zone) => {
    const outcome = await authenticator.authenticate(authorization, zone);
    if (!outcome.ok) return outcome;
    const { token } = outcome;
    if (token === null) return { ok: true, expiresAt: null, watch: () => () => undefined };
    const { expiresAt } = token;
    const warning = expiryWarning(zone, expiresAt, clock.now());
    if (warning !== null && warned.get(zone) !== warning) log.warn({ zone }, warning);
    if (warning !== null) warned.set(zone, warning);
    return { ok: true, expiresAt, watch: (end) => watch.watch(token, end) };
  };
}
