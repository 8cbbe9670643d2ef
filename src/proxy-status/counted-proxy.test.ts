import { describe, expect, it } from 'vitest';
import { fc } from '../../test/support/property.ts';
import type { ProxyEvent } from '../ads/proxy-events.ts';
import { XDS_TYPES, type XdsRefusal } from '../ads/session-messages.ts';
import { CountedProxy } from './counted-proxy.ts';
import { foldProxy, mergeProxy, unknownProxy, type ProxyState } from './dataplane-insight.ts';

const at = { mesh: 'shop', name: 'cart', run: '', isZoneProxy: true, namespace: '', version: {}, metadata: {} };
const refusal: XdsRefusal = { type: 'Listener', name: 'l', version: '1', reason: 'no' };
const standing = fc.constantFrom<readonly XdsRefusal[]>([], [], [refusal]);
const event: fc.Arbitrary<ProxyEvent> = fc
  .record({ streamId: fc.constantFrom('a', 'b'), type: fc.constantFrom(...XDS_TYPES), standing })
  .chain(({ streamId, type, standing: refusals }) => {
    const facts = { ...at, streamId };
    const answer = { ...facts, type, standing: refusals };
    return fc.constantFrom<ProxyEvent[]>(
      { ...facts, kind: 'opened' },
      { ...facts, kind: 'sent', type },
      { ...answer, kind: 'accepted' },
      { ...answer, kind: 'refused', refusals },
      { ...facts, kind: 'problems', problems: [] },
      { ...facts, kind: 'listens', places: ['127.0.0.1 1'] },
      { ...facts, kind: 'closed' },
    );
  });

/** Returns null where it cannot be counted. */
function counted(proxy: CountedProxy, { streamId, ...what }: ProxyEvent, now: Date): 'count' | 'nothing' | null {
  if (what.kind !== 'sent' && (what.kind !== 'accepted' || what.standing.length > 0)) return null;
  const isCounted = proxy.count(what.kind, what.type, streamId, now);
  return isCounted === null ? null : isCounted ? 'count' : 'nothing';
}

/** The state with the counts, which change in place. */
const shown = (state: ProxyState): unknown => [
  { ...state, subscriptions: state.subscriptions.map(({ counts: _, ...one }) => one) },
  mergeProxy({ spec: {}, status: {} }, state, 100, new Date(100)),
];

describe('CountedProxy', () => {
  it('has the state that the events make one by one, whenever it is read', () => {
    fc.assert(
      fc.property(fc.array(fc.record({ event, isRead: fc.boolean(), isCounted: fc.boolean() }), { maxLength: 60 }), (steps) => {
        const proxy = new CountedProxy(unknownProxy);
        let state: ProxyState = unknownProxy;
        for (const [index, step] of steps.entries()) {
          const now = new Date(index);
          const before = state;
          state = foldProxy(state, step.event, 'one', now);
          const said = (step.isCounted ? counted(proxy, step.event, now) : null) ?? proxy.take(step.event, 'one', now);
          expect(said === 'nothing').toBe(state === before);
          if (step.isRead) expect(shown(proxy.state)).toEqual(shown(state));
        }
        expect(shown(proxy.state)).toEqual(shown(state));
      }),
    );
  });
});
