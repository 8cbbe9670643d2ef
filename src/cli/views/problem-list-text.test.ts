import { expect, it } from 'vitest';
import { eventLines } from './event-text.ts';
import { hintText, problemListText } from './problem-list-text.ts';

const away = {
  ...{ id: 'zoneAway/east', code: 'zoneAway', zone: 'east', since: '2026-01-01T00:00:00.000Z', message: 'it is away\nforged' },
  ...{ remedy: 'read its log', runbook: 'docs/runbook.md#a' },
};

it('problems are a table, each with its reason and remedy below', () => {
  const ends = {
    ...away,
    code: 'zoneTokenEnds',
    since: null,
    until: '2026-02-01T00:00:00.000Z',
    message: 'it ends',
    type: 'Zone',
  };
  expect(problemListText([away, ends], () => '5m').split('\n')).toEqual([
    'PROBLEM         WHERE       SINCE',
    'zoneAway        east        5m',
    'zoneTokenEnds   east Zone   ends 2026-02-01',
    '',
    'it is away',
    '  forged',
    '  → read its log (docs/runbook.md#a)',
    '',
    'it ends',
    '  → read its log (docs/runbook.md#a)',
  ]);
});

it('a hint is its sentence and what to do', () => {
  const hint = {
    code: 'applicationUnprobed',
    zone: 'east',
    mesh: 'shop',
    count: 1,
    message: 'it is\nunknown',
    remedy: 'write it',
  };
  expect(hintText(hint)).toBe('hint: it is\\nunknown\n  → write it');
});

it.each([
  ['resync', { reason: 'started', instanceId: 'cp-1' }, 'started at cp-1'],
  ['zones', { name: 'east', isRemoved: true }, 'east is deleted'],
  ['zones', { name: 'east', sync: { state: 'offline', reason: 'it is away' } }, 'east is offline: it is away'],
  ['zones', { name: 'east', sync: { state: 'online', reason: '' } }, 'east is online'],
  ['lag', { name: 'east', lagMs: 2_400, pending: ['Mesh'] }, 'east is 2s behind: Mesh'],
  ['lag', { name: 'east', lagMs: 0, pending: [] }, 'east has everything'],
  [
    'changes',
    {
      id: 3,
      type: 'MeshTimeout',
      mesh: 'shop',
      name: 'slow',
      isRemoval: false,
      targets: 5,
      applied: 2,
      refused: 1,
      slowestMs: 7,
    },
    '3 MeshTimeout shop/slow: 2 of 5 have it, 1 refused it, the last after 7 ms',
  ],
  [
    'changes',
    { id: 4, type: 'Mesh', name: 'shop', isRemoval: true, targets: 5, applied: 0, refused: 0 },
    '4 Mesh shop (removed): 0 of 5 have it',
  ],
  ['problems', away, 'zoneAway/east: it is away\\nforged'],
  ['problems', { id: 'zoneAway/east', isSolved: true }, 'solved: zoneAway/east'],
  ['leader', { leader: null, replicas: [{ instanceId: 'a' }, { instanceId: 'b' }] }, 'none leads; replicas: a, b'],
  ['later', { x: 1 }, '{"x":1}'],
])('the event %s is one line: %j', (event, item, text) => {
  expect(eventLines(event, item, new Date('2026-01-01T05:06:07.089Z'))).toBe(`05:06:07.089   ${event.padEnd(8)}   ${text}`);
});
