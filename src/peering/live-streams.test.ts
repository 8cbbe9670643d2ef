import { describe, expect, it } from 'vitest';
import { fc } from '../../test/support/property.ts';
import type { JsonObject } from '../resource/types.ts';
import { ANSWER_MS, isAsked, livenessOf, VERDICT_MS, withAnswer, withQuestion } from './live-streams.ts';

const start = new Date('2026-01-01T00:00:00Z');
const later = (ms: number): Date => new Date(start.getTime() + ms);

const subscription = fc.record({
  id: fc.constantFrom('a', 'b', 'c'),
  globalInstanceId: fc.constantFrom('here', 'there', 'dead'),
  connectTime: fc.constant('2026-01-01T00:00:00Z'),
  disconnectTime: fc.constantFrom('', '2026-01-01T00:01:00Z'),
});
const insight = fc.record({ subscriptions: fc.uniqueArray(subscription, { selector: ({ id }) => id }) });

describe('the liveness of the streams of a zone', () => {
  it('is found with one question: live when a running instance has an open stream, else gone', () => {
    fc.assert(
      fc.property(insight, fc.integer({ min: ANSWER_MS, max: VERDICT_MS - 1 }), (spec, wait) => {
        const open = spec.subscriptions.filter(({ disconnectTime }) => disconnectTime === '');
        const lives = open.some(({ globalInstanceId }) => globalInstanceId !== 'dead');
        let status: JsonObject = {};
        if (livenessOf(spec, status, 'here', start) === 'unknown') {
          status = withQuestion(status, spec, start);
          expect(livenessOf(spec, status, 'here', start)).toBe('asked');
          status = withAnswer(status, spec, 'there') ?? status;
        }
        expect(livenessOf(spec, status, 'here', later(wait))).toBe(lives ? 'live' : 'gone');
      }),
    );
  });

  it('is asked again when the answer is old, or a stream has opened since', () => {
    fc.assert(
      fc.property(insight, insight, fc.integer({ min: -VERDICT_MS, max: 3 * VERDICT_MS }), (before, now, age) => {
        const status = withQuestion({}, before, start);
        const open = now.subscriptions.filter(({ disconnectTime }) => disconnectTime === '');
        if (open.length === 0 || open.some(({ globalInstanceId }) => globalInstanceId === 'here')) return;
        const known = new Set(before.subscriptions.filter(({ disconnectTime }) => disconnectTime === '').map(({ id }) => id));
        const isOld = age < 0 || age >= VERDICT_MS || open.some(({ id }) => !known.has(id));
        expect(livenessOf(now, status, 'here', later(age)) === 'unknown').toBe(isOld);
      }),
    );
  });

  it('is never reported by an instance without an open stream, and never twice', () => {
    fc.assert(
      fc.property(insight, (spec) => {
        const status = withQuestion({}, spec, start);
        expect(withAnswer(status, spec, 'nobody')).toBeNull();
        const answered = withAnswer(status, spec, 'there');
        if (answered !== null) expect([isAsked(answered), withAnswer(answered, spec, 'there')]).toEqual([false, null]);
      }),
    );
  });

  it.each<[JsonObject]>([[{}], [{ asked: 5 }], [{ asked: { streams: 'a', time: 'soon' } }], [{ asked: { time: null } }]])(
    'is unknown with a status of %j',
    (status) => {
      const spec = { subscriptions: [{ id: 'a', globalInstanceId: 'dead', connectTime: '2026-01-01T00:00:00Z' }] };
      expect(livenessOf(spec, status, 'here', start)).toBe('unknown');
    },
  );
});
