import { beforeEach, describe, expect, it } from 'vitest';
import { absenceIn, Absences, LOST_MS } from './absences.ts';

const GRACE_MS = 10_000;
const broken = { endedAt: 'a', isLost: false };
const lost = { endedAt: 'a', isLost: true };

describe('the absence of a proxy', () => {
  const open = { connectTime: '2026-01-01T00:00:00Z' };
  const ended = { ...open, disconnectTime: '2026-01-01T00:01:00Z' };

  it.each([
    ['is none while a stream is open', [ended, open], { hold: 'released' }, null],
    ['is lost with the control plane that held its Dataplane', [ended], { hold: 'held' }, true],
    ['is lost with the control plane of a Dataplane that stays', [ended], { isLost: true }, true],
    ['is a broken stream', [ended], { hold: 'released' }, false],
    ['is a broken stream of a Dataplane that stays', [ended], {}, false],
  ])('%s', (_, subscriptions, status, isLost) => {
    const absence = absenceIn({ spec: { subscriptions }, status });
    expect(absence).toEqual(isLost === null ? null : { endedAt: ended.disconnectTime, isLost });
  });

  it('begins without a time where there never was a stream', () => {
    expect(absenceIn({ spec: {}, status: {} })).toEqual({ endedAt: '', isLost: false });
  });
});

describe('absences', () => {
  let absences: Absences;

  beforeEach(() => {
    absences = new Absences(GRACE_MS);
  });

  it('last for the grace from the first look, and those of a lost control plane for a minute', () => {
    absences.look(0);
    absences.put('broken', broken);
    absences.put('lost', lost);
    expect(absences.look(5)).toEqual({ gone: [], wakeAt: 5 + GRACE_MS });
    expect(['broken', 'lost', 'unknown'].map((name) => absences.stateOf(name))).toEqual(['broken', 'lost', 'present']);
    expect(absences.look(5 + GRACE_MS)).toEqual({ gone: ['broken'], wakeAt: 5 + LOST_MS });
    expect(absences.look(5 + LOST_MS)).toEqual({ gone: ['lost'], wakeAt: null });
    expect(['broken', 'lost'].map((name) => absences.stateOf(name))).toEqual(['gone', 'gone']);
    expect(absences.look(6 + LOST_MS)).toEqual({ gone: [], wakeAt: null });
  });

  it('that a leader finds last for a minute: possibly no control plane ran', () => {
    absences.put('broken', broken);
    expect(absences.look(7)).toEqual({ gone: [], wakeAt: 7 + LOST_MS });
    expect(absences.look(7 + LOST_MS).gone).toEqual(['broken']);
  });

  it('do not begin again when the same is read again, and do with another end', () => {
    absences.look(0);
    expect(absences.put('cart', broken)).toBe(true);
    absences.look(0);
    expect(absences.put('cart', broken)).toBe(false);
    expect(absences.look(GRACE_MS).gone).toEqual(['cart']);
    expect([absences.put('cart', broken), absences.stateOf('cart')]).toEqual([false, 'gone']);
    expect([absences.put('cart', { ...broken, endedAt: 'b' }), absences.stateOf('cart')]).toEqual([true, 'broken']);
    expect(absences.look(GRACE_MS).wakeAt).toBe(2 * GRACE_MS);
  });

  it('end when the proxy is there again', () => {
    expect(absences.put('cart', null)).toBe(false);
    absences.put('cart', lost);
    expect([absences.put('cart', null), absences.stateOf('cart')]).toEqual([true, 'present']);
    expect(absences.look(LOST_MS)).toEqual({ gone: [], wakeAt: null });
  });

  it('last no shorter without a control plane where the grace is longer', () => {
    absences = new Absences(2 * LOST_MS);
    absences.put('cart', lost);
    expect(absences.look(0).wakeAt).toBe(2 * LOST_MS);
  });
});
