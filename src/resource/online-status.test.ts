import { describe, expect, it } from 'vitest';
import { describedSubscription } from './online-status.ts';
import { insightFacts } from './proxy-facts.ts';

const at = (id: string, connectTime: string, disconnectTime?: string) => ({
  ...{ id, connectTime: `2026-01-01T${connectTime}:00Z`, version: { kumaDp: { version: id }, envoy: { version: id } } },
  ...(disconnectTime !== undefined && { disconnectTime: `2026-01-01T${disconnectTime}:00Z` }),
});
/** The date was set back from 11:00 to 10:00 before the second stream opened. */
const dead = at('dead', '10:50', '11:00');
const [live, ended] = [at('live', '10:00'), at('live', '10:00', '10:01')];

describe('the subscription that an insight describes', () => {
  it('is the last one, also when none is open', () => {
    const [first, second] = [at('1', '10:00', '10:01'), at('2', '10:02', '10:03')];
    expect(describedSubscription([first, second])).toBe(second);
    expect(describedSubscription([])).toBeUndefined();
  });

  it('is the open one after the date was set back, and the same when that one ends', () => {
    expect(describedSubscription([live, dead])).toBe(live);
    expect(describedSubscription([ended, dead], [live, dead])).toMatchObject({ id: 'live' });
  });

  it('says the versions of a proxy in summaries after the date was set back', () => {
    expect(insightFacts({ subscriptions: [live, dead] })).toMatchObject({ kumaDp: 'live', envoy: 'live' });
  });
});
