import { describe, expect, it } from 'vitest';
import { following } from '../../test/support/following.ts';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { TinyStore } from '../../test/support/tiny-store.ts';
import { MAX_ROWS, watchEvents } from './watch-events.ts';

describe('a watch', () => {
  it('ends with an error when it cannot follow all rows, so that no change is lost silently', async () => {
    const store = new TinyStore();
    const writes = Array.from({ length: MAX_ROWS + 1 }, (_, index) => ({
      ...{ op: 'create' as const, key: { type: 'Dataplane', mesh: 'shop', name: `web-${String(index).padStart(5, '0')}` } },
      ...{ labels: {}, spec: {} },
    }));
    await store.writeBatch(writes);
    const last = writes.at(-1)?.key.name;
    const filter = { where: { type: 'Dataplane', mesh: 'shop' }, matches: ({ name }: { name: string }) => name === last };
    const options = { store, clock: new ManualClock(), log: following.log, heartbeatMs: 1_000 };
    const events = watchEvents(filter, options, new AbortController().signal);
    await expect(events.next()).rejects.toMatchObject({ code: 'too_large' });
  });

  it('reports insights of zones, which have a channel of their own', async () => {
    const store = new TinyStore().withZones('east');
    const end = new AbortController();
    const filter = { where: { type: 'ZoneInsight', mesh: '' }, matches: () => true };
    const options = { store, clock: new ManualClock(), log: following.log, heartbeatMs: 1_000 };
    const events = watchEvents(filter, options, end.signal);
    expect(JSON.stringify(await events.next())).not.toContain('east');
    const next = events.next();
    await store.write({ op: 'create', key: { type: 'ZoneInsight', mesh: '', name: 'east' }, labels: {}, spec: {} });
    expect(JSON.stringify(await next)).toContain('east');
    end.abort();
    await events.return(undefined);
  });
});
