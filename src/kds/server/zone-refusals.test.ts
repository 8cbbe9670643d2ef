// Statuses are sent in headers: they are short, well-formed text for any name of a peer. A peer over its quota gets one later.
import { status } from '@grpc/grpc-js';
import { setImmediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { MeridianError } from '../../base/errors.ts';
import { exhausted, statusOf } from '../../grpc/status.ts';
import { missingName, noZone, slowToRefuse } from './zone-refusals.ts';

const LONG = `${'a'.repeat(5_000)}\ud800`;

it.each([
  ['a failure', (error: unknown) => statusOf(error), status.INVALID_ARGUMENT],
  ['no name on a sync stream', (error: unknown) => missingName('globalToZone', error), status.UNKNOWN],
  ['no name on another stream', (error: unknown) => missingName('stats', error), status.INVALID_ARGUMENT],
  ['a name that no zone can have', (error: unknown) => statusOf(noZone(error)), status.INTERNAL],
])('a status of %s fits into a header', (_, statusFor, code) => {
  for (const text of [LONG, `${'a'.repeat(10)}\ud800`]) {
    const failure = statusFor(new MeridianError('invalid', text));
    expect(failure.code).toBe(code);
    expect(failure.details.length).toBeLessThanOrEqual(1_000);
    expect(failure.details.isWellFormed()).toBe(true);
    expect(failure.message).toBe(failure.details);
  }
});

it('a response over a quota is refused after a second, another fault at once', async () => {
  const clock = new ManualClock();
  let fault: unknown;
  const refuse = (error: Error): void =>
    void slowToRefuse(clock, () => Promise.reject(error)).catch((caught: unknown) => (fault = caught));
  const [slow, fast] = [exhausted('too many rows'), new MeridianError('bad_request', 'no')];
  refuse(slow);
  await setImmediate();
  expect(fault).toBeUndefined();
  await clock.advance(1_000);
  expect(fault).toBe(slow);
  refuse(fast);
  await setImmediate();
  expect(fault).toBe(fast);
});
