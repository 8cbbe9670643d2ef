// The remedies for the token of a zone: the last sentence of every refusal (D31), and the warning before its expiry, which
// `inspect zones` and the log show.
import { RFC_1035_LABEL } from '../resource/stored-name.ts';

/** Whether a name is safe in a shell command. Other names are not valid for zones (kds-wire 2.6). */
export function isZoneName(name: string): boolean {
  return RFC_1035_LABEL.test(name);
}

/** The command for a zone that joins. @param zone an RFC 1035 label; check it with `isZoneName` */
export function howToJoin(zone: string): string {
  return (
    `Where the admin of the global is, run: meridian generate zone-token --zone ${zone} --scope cp --valid-for 8760h --out ${zone}.token; ` +
    `then give the zone that file: multizone.zone.kds.auth.tokenFile or ` +
    `MERIDIAN_MULTIZONE_ZONE_KDS_AUTH_TOKEN_FILE=${zone}.token`
  );
}

/** The advice for a zone that cannot send a token. */
export function howToLetIn(zone: string): string {
  return `A Kuma zone sends no token; admit it by listing ${zone} in multizone.global.kds.auth.allowWithoutToken of the global`;
}

const DAY_MS = 24 * 3_600_000;

/** The time before its expiry at which a token gets a warning, in milliseconds. */
const WARN_BEFORE_MS = 30 * DAY_MS;

/** A sentence for people if the token expires within `withinMs`, else null. */
export function expiryWarning(zone: string, expiresAt: Date, now: Date, withinMs = WARN_BEFORE_MS): string | null {
  const leftMs = expiresAt.getTime() - now.getTime();
  if (leftMs >= withinMs) return null;
  const when = leftMs <= 0 ? 'has expired' : `expires in ${days(leftMs)}`;
  return `the token of zone "${zone}" ${when} (${expiresAt.toISOString()}). ${howToJoin(zone)}`;
}

function days(ms: number): string {
  const count = Math.floor(ms / DAY_MS);
  if (count === 0) return 'less than a day';
  return count === 1 ? '1 day' : `${String(count)} days`;
}
