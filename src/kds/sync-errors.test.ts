import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import type { SyncEvent } from './observer.ts';
import { SyncErrors } from './sync-errors.ts';

const rejected = (peer: string, type: string, streamId = 's1'): SyncEvent => ({
  kind: 'rejected',
  peer,
  streamId,
  type,
  message: 'no',
  refused: ['a.default'],
});
const sent = (peer: string, streamId: string): SyncEvent => ({
  kind: 'sent',
  peer,
  streamId,
  type: 'Mesh',
  resources: 1,
  removed: 0,
  bytes: 1,
});

describe('SyncErrors', () => {
  it('keeps the last refusal per zone and type, says whether the type flows again, and forgets with a fresh stream', () => {
    const time = new Date(0);
    const errors = new SyncErrors(pino({ level: 'silent' }), () => time);
    const kept = (zone: string, type: string, acceptedSince = false) => ({
      zone,
      type,
      resources: ['a.default'],
      message: 'no',
      time,
      acceptedSince,
    });
    for (const event of [rejected('east', 'Mesh'), rejected('east', 'MeshRetry'), rejected('west', 'Mesh'), sent('east', 's1')])
      errors.observe(event);
    expect(errors.list()).toEqual([kept('east', 'Mesh'), kept('east', 'MeshRetry'), kept('west', 'Mesh')]);
    errors.observe({ kind: 'acknowledged', peer: 'east', streamId: 's1', type: 'Mesh', seconds: 1 });
    expect(errors.list('east')).toEqual([kept('east', 'Mesh', true), kept('east', 'MeshRetry')]);
    errors.observe(sent('east', 's2'));
    expect(errors.list()).toEqual([kept('west', 'Mesh')]);
  });
});
