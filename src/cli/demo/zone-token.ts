// The token of a zone of the demo, asked of its global as the machine's admin.
import { MeridianError } from '../../base/errors.ts';

/** Longer than any demo runs, and longer than the warning period of `inspect zones`. */
const VALID_FOR = '2160h';

/** @throws MeridianError `unavailable` when global, which must be ready, issues none */
export async function fetchZoneToken(api: string, zone: string, signal: AbortSignal): Promise<string> {
  const answer = await fetch(`${api}/tokens/zone`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ zone, scope: ['cp'], validFor: VALID_FOR }),
    signal,
  });
  const text = await answer.text();
  if (answer.ok) return text;
  throw new MeridianError('unavailable', `global issued no token for zone ${zone}: ${String(answer.status)} ${text}`);
}
