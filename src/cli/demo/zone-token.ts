// The token of a zone of the demo, asked of its global as the machine's admin.
import { setTimeout as delay } from 'node:timers/promises';
import { MeridianError } from '../../base/errors.ts';

/** Longer than any demo, shorter than what is worth stealing. */
const VALID_FOR = '24h';
const PATIENCE_MS = 30_000;

/** @throws MeridianError `unavailable` when global issues none; its first key is made a moment after it is ready */
export async function fetchZoneToken(api: string, zone: string, signal: AbortSignal): Promise<string> {
  const deadline = Date.now() + PATIENCE_MS;
  for (;;) {
    const answer = await fetch(`${api}/tokens/zone`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ zone, scope: ['cp'], validFor: VALID_FOR }),
      signal,
    });
    const text = await answer.text();
    if (answer.ok) return text;
    if (answer.status !== 404 || Date.now() > deadline)
      throw new MeridianError('unavailable', `global issued no token for zone ${zone}: ${String(answer.status)} ${text}`);
    await delay(50, undefined, { signal });
  }
}
