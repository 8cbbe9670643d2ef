import { describe, expect, it } from 'vitest';
import type { Answer } from '../../answers/answers.ts';
import { changesText, rolloutsText, rolloutText } from './rollout-text.ts';

type Rollout = Answer<'Rollout'>;
type Target = Rollout['targets'][number];

function rollout(targets: readonly Target[], more: Partial<Rollout> = {}): Rollout {
  const counts = { acknowledged: 0, refused: 0, withheld: 0, sent: 0, pending: 0, away: 0, unknown: 0, hidden: 0 };
  for (const { state } of targets) counts[state] += 1;
  return { type: 'MeshTimeout', mesh: 'shop', name: 'slow', outcome: 'waiting', counts, targets, ...more };
}

describe('rollouts as text', () => {
  it('say how many zones have the change, and name the slowest', () => {
    const targets = [4, 9, 1_250, 3].map((acknowledgedMs, at): Target => ({
      to: `z${String(at)}`,
      state: 'acknowledged',
      acknowledgedMs,
    }));
    expect(rolloutsText([rollout(targets, { medianMs: 4, slowestMs: 1_250 })])).toBe(
      'MeshTimeout shop/slow: 4 of 4 have it, half of them after 4 ms, all after 1.3 s (slowest: z2 1.3 s, z1 9 ms, z0 4 ms)',
    );
  });

  it('name each zone that lacks the change, with the reason', () => {
    const targets: Target[] = [
      { to: 'a', state: 'acknowledged', acknowledgedMs: 7 },
      { to: 'b', state: 'refused', reason: 'unknown field' },
      { to: 'c', state: 'away' },
      { to: 'd', state: 'hidden' },
      { to: 'e', state: 'sent' },
      { to: 'f', state: 'unknown' },
      { to: 'g', state: 'withheld', reason: 'too large' },
      { to: 'h', state: 'pending' },
    ];
    expect(rolloutsText([rollout(targets, { isRemoval: true, medianMs: 7, slowestMs: 7 })])).toBe(
      [
        'MeshTimeout shop/slow (removed): 1 of 7 have it, half of them after 7 ms, all after 7 ms',
        '  b refused it: unknown field',
        '  c is not connected',
        '  e has not answered',
        '  f is connected to a replica that did not answer',
        '  g cannot read it: too large',
        '  h is not sent it yet',
      ].join('\n'),
    );
  });

  it('name twenty zones that lack the change, and the number of the others', () => {
    const targets = Array.from({ length: 23 }, (_, at): Target => ({ to: `z${String(at)}`, state: 'away' }));
    const lines = rolloutsText([rollout(targets)]).split('\n');
    expect(lines).toHaveLength(22);
    expect(lines.at(-1)).toBe('  and 3 more');
  });

  it.each([
    ['no zone may have it', rollout([{ to: 'east', state: 'hidden' }]), 'MeshTimeout shop/slow: no zone is meant to have it'],
    ['a rule keeps it', rollout([], { note: 'stays here' }), 'MeshTimeout shop/slow: goes to no zone: stays here'],
  ])('say that %s', (_, given, text) => expect(rolloutsText([given])).toBe(text));

  it('have a table of one change; zones that are not meant to have it only on demand', () => {
    const targets: Target[] = [
      { to: 'east', state: 'acknowledged', sentMs: 2, acknowledgedMs: 7 },
      { to: 'west', state: 'hidden' },
    ];
    const given = rollout(targets, { medianMs: 7, slowestMs: 7 });
    expect(rolloutText(given, false).split('\n').slice(2)).toEqual([
      'ZONE   STATE    SENT AFTER   HAD IT AFTER   REASON',
      'east   has it   2 ms         7 ms',
    ]);
    expect(rolloutText(given, true)).toMatch(/west +is not meant to have it +- +-/);
  });

  it('name the other zones of a resource of a zone, and say why they are not known', () => {
    const first = rollout([{ to: 'global', state: 'acknowledged', sentMs: 1, acknowledgedMs: 9 }]);
    const far: Target[] = [
      { to: 'west', state: 'acknowledged', sentMs: 1, acknowledgedMs: 12 },
      { to: 'north', state: 'refused', reason: 'unknown field' },
    ];
    const { outcome, counts, targets } = rollout([...far, { to: 'east', state: 'hidden' }]);
    const onward = { outcome, counts, targets, medianMs: 12, slowestMs: 12, omitted: 3 };
    const text = '  other zones: 1 of 2 have it, half of them 12 ms after global, all 12 ms after it; 3 of them are not listed';
    expect(
      rolloutsText([{ ...first, onward }])
        .split('\n')
        .slice(1),
    ).toEqual([text, '  north refused it: unknown field']);
    expect(
      rolloutText({ ...first, onward }, false)
        .split('\n')
        .slice(5),
    ).toEqual([
      ...[text, '', 'ZONE    STATE        SENT AFTER   HAD IT AFTER   REASON'],
      'west    has it       1 ms         12 ms',
      'north   refused it   -            -              unknown field',
    ]);
    const noteOf = (more: Partial<Rollout>): string | undefined => rolloutsText([{ ...first, ...more }]).split('\n')[1];
    expect(noteOf({ onwardNote: 'global is Kuma' })).toBe('  other zones: not known: global is Kuma');
    const none = { outcome: 'everywhere', counts: rollout([]).counts, targets: [] } as const;
    expect(noteOf({ onward: none })).toBe('  global sends it to no other zone');
    expect(noteOf({ onward: { ...none, note: 'it stays' } })).toBe('  global sends it to no other zone: it stays');
  });

  it('escape what a zone says', () => {
    expect(rolloutsText([rollout([{ to: 'east', state: 'refused', reason: 'a\u001B[31m\nb' }])])).toMatch(
      /refused it: a\\u001b\[31m\\nb$/,
    );
  });

  it('list the last changes with the number of zones that have them', () => {
    const counts = { acknowledged: 3, refused: 1, withheld: 0, sent: 0, pending: 0, away: 0, unknown: 0, hidden: 2 };
    const change = {
      id: 12,
      type: 'Mesh',
      name: 'shop',
      version: null,
      isRemoval: true,
      committedAt: 'T',
      counts,
      slowestMs: 9,
      medianMs: 4,
    };
    const [, line] = changesText([{ ...change, outcome: 'refused' }], () => '5s').split('\n');
    expect(line?.split(/ {2,}/)).toEqual(['12', '5s', 'removed', 'Mesh', 'shop', '3/4', '4 ms', '9 ms', 'refused']);
    const otherZones = (hop: Partial<Answer<'OnwardSummary'>> | null): string | undefined => {
      const hops = hop === null ? [] : [{ id: 12, ...hop }];
      const [, inZone] = changesText([{ ...change, outcome: 'refused' }], () => '5s', hops).split('\n');
      return inZone?.split(/ {2,}/)[6];
    };
    const none = { ...counts, acknowledged: 0, refused: 0 };
    expect(otherZones({ onward: { outcome: 'waiting', counts } })).toBe('3/4 waiting');
    expect(otherZones({ onward: { outcome: 'everywhere', counts: none } })).toBe('none');
    expect(otherZones({ onwardNote: 'global is Kuma' })).toBe('?');
    expect(otherZones(null)).toBe('-');
  });
});
