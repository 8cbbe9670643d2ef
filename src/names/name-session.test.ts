// What a launcher is sent: the first state, and then differences.
import { describe, expect, it } from 'vitest';
import { fc } from '../../test/support/property.ts';
import type { Name, NameTable } from '../xds/name-table.ts';
import { nameResponses } from './name-responses.ts';
import { NameSession, nameVersion } from './name-session.ts';
import { decodeDeltaResponse } from '../wire/kds-messages.ts';
import { decodeName } from '../wire/name-messages.ts';

function tableOf(...names: readonly (readonly [hostname: string, address: string])[]): NameTable {
  const made = names.map(([hostname, address]): Name => ({ hostname, addresses: [address], places: [`${address}:80`] }));
  return new Map(made.map((name) => [name.hostname, name]));
}

const NOTHING: ReadonlyMap<string, string> = new Map();

function hostnames(session: NameSession): [put: string[], removed: readonly string[]] | null {
  const changes = session.take();
  return changes === null ? null : [changes.put.map(({ hostname }) => hostname), changes.removed];
}

describe('a stream of names', () => {
  it('begins with all names, also if there are none', () => {
    expect(hostnames(new NameSession(tableOf(['a', '241.0.0.1']), NOTHING))).toEqual([['a'], []]);
    expect(hostnames(new NameSession(tableOf(), NOTHING))).toEqual([[], []]);
  });

  it('begins with what differs from the versions that the launcher has', () => {
    const table = tableOf(['same', '241.0.0.1'], ['other', '241.0.0.2'], ['new', '241.0.0.3']);
    const same = table.get('same');
    const held = new Map([
      ...[['same', same === undefined ? '' : nameVersion(same)] as const],
      ...[['other', 'x'] as const, ['gone', 'x'] as const],
    ]);
    expect(hostnames(new NameSession(table, held))).toEqual([['other', 'new'], ['gone']]);
  });

  it('sends nothing before the answer, and then everything that has changed since', () => {
    const session = new NameSession(tableOf(['a', '241.0.0.1']), NOTHING);
    session.take();
    session.update(tableOf(['a', '241.0.0.1'], ['b', '241.0.0.2']));
    expect(session.take()).toBeNull();
    session.update(tableOf(['b', '241.0.0.2'], ['c', '241.0.0.3']));
    session.answered();
    expect(hostnames(session)).toEqual([['b', 'c'], ['a']]);
  });

  it('sends nothing for a table with the same names', () => {
    const session = new NameSession(tableOf(['a', '241.0.0.1']), NOTHING);
    session.take();
    session.answered();
    session.update(tableOf(['a', '241.0.0.1']));
    expect(session.take()).toBeNull();
  });

  it('gives a launcher that answers everything the last table', () => {
    const names = fc.uniqueArray(fc.tuple(fc.constantFrom('a', 'b', 'c', 'd'), fc.constantFrom('241.0.0.1', '241.0.0.2')), {
      selector: ([hostname]) => hostname,
    });
    fc.assert(
      fc.property(names, names, fc.array(fc.tuple(names, fc.boolean())), (before, first, steps) => {
        const held = new Map([...tableOf(...before).values()].map((name) => [name.hostname, nameVersion(name)]));
        const launcher = new Map(tableOf(...before));
        const session = new NameSession(tableOf(...first), held);
        const take = (): void => {
          const changes = session.take();
          for (const hostname of changes?.removed ?? []) launcher.delete(hostname);
          for (const name of changes?.put ?? []) launcher.set(name.hostname, name);
        };
        for (const [table, answers] of [...steps, [steps.at(-1)?.[0] ?? first, true] as const]) {
          take();
          session.update(tableOf(...table));
          if (answers) session.answered();
        }
        take();
        expect(Object.fromEntries(launcher)).toEqual(Object.fromEntries(tableOf(...(steps.at(-1)?.[0] ?? first))));
      }),
    );
  });
});

describe('the version of a name', () => {
  it('is a hash of its content', () => {
    const [one, same, other] = ['241.0.0.1', '241.0.0.1', '241.0.0.2'].map((address) => {
      const name = tableOf(['a', address]).get('a');
      return name === undefined ? '' : nameVersion(name);
    });
    expect([one === same, one === other]).toEqual([true, false]);
  });
});

describe('the messages of a change', () => {
  it('have its names, and a large one goes in several', () => {
    const table = tableOf(
      ...Array.from({ length: 8_000 }, (_, at) => [`name-${String(at)}.svc.mesh.local`, '241.0.0.1'] as const),
    );
    let nonce = 0;
    const changes = { put: [...table.values()], removed: ['gone'] };
    const messages = nameResponses(changes, () => String((nonce += 1))).map((parts) => decodeDeltaResponse(Buffer.concat(parts)));
    expect(messages.map((message) => [message.nonce, message.removedResources])).toEqual(
      messages.map((_, at) => [String(at + 1), at === 0 ? ['gone'] : []]),
    );
    expect(messages.length).toBeGreaterThan(1);
    const read = messages.flatMap(({ resources }) =>
      resources.map(({ name, resource }) => ({ hostname: name, ...decodeName(resource) })),
    );
    expect(read).toEqual(changes.put);
  });

  it('are made once for all launchers', () => {
    const changes = { put: [...tableOf(['a', '241.0.0.1']).values()], removed: [] };
    const [[one]] = nameResponses(changes, () => '1') as [[Buffer]];
    const [[other]] = nameResponses(changes, () => '2') as [[Buffer]];
    expect(one).toBe(other);
  });
});
