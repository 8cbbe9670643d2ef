// The log of one type compared with a naive model: a list that is sorted for every query.
import { fc } from '../../../test/support/property.ts';
import { describe, expect, it } from 'vitest';
import type { Entry } from './entry.ts';
import { TypeLog, type Slot } from './type-log.ts';

function entry(version: number): Entry {
  return {
    visibility: { to: 'all' },
    version: String(version),
    in: () => ({ version: String(version), bytes: new Uint8Array() }),
  };
}

function put(log: TypeLog, key: string, version = 0): Slot {
  return log.append({ key, wireName: `${key}.default`, plainName: `plain-${key}.default` }, entry(version));
}

const keysSince = (log: TypeLog, position: number): string[] => [...log.since(position)].map(({ key }) => key);

describe('a log of a type', () => {
  it('is empty at first', () => {
    const log = new TypeLog('Mesh');
    expect([log.type, log.position, log.size, log.find('a'), keysSince(log, 0)]).toEqual(['Mesh', 0, 0, undefined, []]);
  });

  it('moves a changed entry to the tail and keeps the names of a slot', () => {
    const log = new TypeLog('Mesh');
    const slots = ['a', 'b', 'c'].map((key) => put(log, key));
    expect(put(log, 'a', 1)).toBe(slots[0]);
    expect(keysSince(log, 0)).toEqual(['b', 'c', 'a']);
    expect(keysSince(log, 3)).toEqual(['a']);
    expect(keysSince(log, 4)).toEqual([]);
    expect(log.find('a')).toMatchObject({ wireName: 'a.default', plainName: 'plain-a.default', entry: { version: '1' } });
  });

  it('keeps a tombstone while a subscription holds it, and no longer (engine 4)', () => {
    const log = new TypeLog('Mesh');
    const slot = put(log, 'a');
    log.hold(slot);
    log.hold(slot);
    log.tombstone(slot);
    expect([log.size, keysSince(log, 1), slot.entry]).toEqual([1, ['a'], null]);
    log.release(slot);
    expect(log.size).toBe(1);
    log.release(slot);
    expect([log.size, log.find('a'), keysSince(log, 0)]).toEqual([0, undefined, []]);
  });

  it('keeps one entry for a recreated slot', () => {
    const log = new TypeLog('Mesh');
    const slot = put(log, 'a');
    log.hold(slot);
    log.tombstone(slot);
    expect(put(log, 'a', 2)).toBe(slot);
    log.release(slot);
    expect([log.size, keysSince(log, 0)]).toEqual([1, ['a']]);
  });

  it('reuses indexes, so that bitsets stay small', () => {
    const log = new TypeLog('Mesh');
    const indexes = new Set<number>();
    for (let n = 0; n < 1_000; n += 1) {
      const slots = [put(log, `a${String(n)}`), put(log, `b${String(n)}`)];
      for (const slot of slots) {
        indexes.add(slot.index);
        log.tombstone(slot);
      }
    }
    expect([log.size, [...indexes].sort()]).toEqual([0, [0, 1]]);
  });
});

type Seen = { readonly mesh: string | undefined; readonly exportedTo: Readonly<Record<string, string>> | undefined };

describe('the slots that a change of a zone concerns', () => {
  const seen = fc.record({
    mesh: fc.constantFrom('shop', 'pay', undefined),
    exportedTo: fc.constantFrom({ region: 'eu' }, undefined),
  });
  const step = fc.record({ key: fc.constantFrom('a', 'b', 'c'), seen: fc.option(seen), isHeld: fc.boolean() });

  it('are those of the mesh, and those for zones with some labels, as they were put last', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40, size: 'max' }), (steps) => {
        const log = new TypeLog('MeshTimeout');
        const model = new Map<string, Seen>();
        for (const { key, seen: given, isHeld } of steps) {
          if (given !== null) {
            const visibility = { to: 'all', ...given } as const;
            const slot = log.append({ key, wireName: key, plainName: key }, { ...entry(1), visibility });
            if (isHeld) log.hold(slot);
            model.set(key, given);
          } else {
            const slot = log.find(key);
            if (slot !== undefined && slot.entry !== null) log.tombstone(slot);
            model.delete(key);
          }
          const keysOf = (slots: Iterable<Slot>): string[] => [...slots].map((slot) => slot.key).sort();
          const modelled = (isOne: (seen: Seen) => boolean): string[] =>
            [...model].flatMap(([name, of]) => (isOne(of) ? [name] : [])).sort();
          for (const mesh of ['shop', 'pay']) expect(keysOf(log.ofMesh(mesh))).toEqual(modelled((of) => of.mesh === mesh));
          expect(keysOf(log.exported())).toEqual(modelled((of) => of.exportedTo !== undefined));
          const meshes = new Set([...model.values()].flatMap(({ mesh }) => mesh ?? []));
          expect([...log.meshes()].sort()).toEqual([...meshes].sort());
        }
      }),
    );
  });

  it('are none of what no peer may see', () => {
    const log = new TypeLog('MeshTimeout');
    log.append({ key: 'a', wireName: 'a', plainName: 'a' }, { ...entry(1), visibility: { to: 'none' } });
    expect([[...log.meshes()], [...log.exported()]]).toEqual([[], []]);
  });
});

type Row = { version: number; position: number; holders: number };

const key = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f');
const command = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('put' as const), key }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('tombstone' as const), key }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('touch' as const), key }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('hold' as const), key }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('release' as const), key }) },
);

describe('random writes and holders', () => {
  it('leave the log equal to the model', () => {
    fc.assert(
      fc.property(fc.array(command, { maxLength: 150 }), fc.nat(200), (commands, asked) => {
        const log = new TypeLog('Mesh');
        /** Version -1 is a tombstone. */
        const model = new Map<string, Row>();
        let [position, version] = [0, 0];
        let mostAtOnce = 0;
        for (const step of commands) {
          const slot = log.find(step.key);
          const row = model.get(step.key);
          expect(slot === undefined).toBe(row === undefined);
          if (step.do === 'put') {
            model.set(step.key, { version: ++version, position: ++position, holders: row?.holders ?? 0 });
            put(log, step.key, version);
          } else if (slot !== undefined && row !== undefined) {
            if (step.do === 'tombstone') {
              Object.assign(row, { version: -1, position: ++position });
              log.tombstone(slot);
            } else if (step.do === 'touch') {
              row.position = ++position;
              log.touch(slot);
            } else if (step.do === 'hold') {
              row.holders += 1;
              log.hold(slot);
            } else if (row.holders > 0) {
              row.holders -= 1;
              log.release(slot);
            }
            if (row.version === -1 && row.holders === 0) model.delete(step.key);
          }
          mostAtOnce = Math.max(mostAtOnce, model.size);
          const live = [...log.since(0)];
          expect(new Set(live.map(({ index }) => index)).size).toBe(live.length);
          expect(live.every(({ index }) => index < mostAtOnce + 1)).toBe(true);
        }
        for (const from of [0, asked, position - 1, position].filter((at) => at >= 0)) {
          const expected = [...model].filter(([, row]) => row.position > from).sort(([, a], [, b]) => a.position - b.position);
          expect(
            [...log.since(from)].map((slot) => [slot.key, slot.entry?.version ?? '-1', slot.position, slot.holders]),
          ).toEqual(expected.map(([name, row]) => [name, String(row.version), row.position, row.holders]));
        }
        expect([log.position, log.size]).toEqual([position, model.size]);
      }),
      { numRuns: 500 },
    );
  });
});
