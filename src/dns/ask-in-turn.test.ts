import { expect, it } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { askInTurn } from './ask-in-turn.ts';
import type { Server } from './resolv-conf.ts';

const TURN_MS = 1_000;
const [one, two] = ['10.0.0.1', '10.0.0.2'].map((address) => ({ address, port: 53 })) as [Server, Server];

/** An answer with a code. */
const answer = (rcode: number): Buffer => Buffer.from([0, 7, 0x80, rcode]);

type Asked = { answered: (message: Buffer) => void; failed: () => void; sent: number; isOpen: boolean };

function setUp(turns: readonly Server[]) {
  const clock = new ManualClock();
  const asked = new Map<Server, Asked>();
  const notes: string[] = [];
  const stop = new AbortController();
  const result = askInTurn(turns, {
    clock,
    turnMs: TURN_MS,
    signal: stop.signal,
    note: (server, hasAnswered) => notes.push(`${server.address} ${hasAnswered ? 'answered' : 'silent'}`),
    open: (server, events) => {
      const state = { ...events, sent: 1, isOpen: true };
      asked.set(server, state);
      return { repeat: () => void (state.sent += 1), close: () => void (state.isOpen = false) };
    },
  });
  const at = (server: Server): Asked => {
    const state = asked.get(server);
    if (state === undefined) throw new Error(`${server.address} was not asked`);
    return state;
  };
  const sent = (): number[] => [one, two].map((server) => asked.get(server)?.sent ?? 0);
  const open = (): boolean[] => [one, two].map((server) => asked.get(server)?.isOpen ?? false);
  return { clock, result, at, sent, open, notes, stop };
}

it('asks the first server, and no other when it answers', async () => {
  const { result, at, sent, open, notes } = setUp([one, two]);
  at(one).answered(answer(3));
  expect(await result).toEqual(answer(3));
  expect([sent(), open(), notes]).toEqual([[1, 0], [false, false], ['10.0.0.1 answered']]);
});

it('asks the next server after a turn, and takes the answer that comes first', async () => {
  const { clock, result, at, sent, notes } = setUp([one, two]);
  await clock.advance(TURN_MS);
  expect(sent()).toEqual([1, 1]);
  at(one).answered(answer(0));
  expect(await result).toEqual(answer(0));
  expect(notes).toEqual(['10.0.0.1 silent', '10.0.0.1 answered']);
});

it('asks each server again in its next turn, and ends without an answer', async () => {
  const { clock, result, sent, open } = setUp([one, two, one, two]);
  await clock.advance(3 * TURN_MS);
  expect(sent()).toEqual([2, 2]);
  await clock.advance(TURN_MS);
  expect(await result).toBeNull();
  expect(open()).toEqual([false, false]);
  expect(clock.sleepers).toBe(0);
});

it.each([2, 4, 5])('asks the next server at once after the code %i, and does not ask the first one again', async (rcode) => {
  const { clock, result, at, sent } = setUp([one, two, one, two]);
  at(one).answered(answer(rcode));
  expect(sent()).toEqual([1, 1]);
  await clock.advance(TURN_MS);
  expect(sent()).toEqual([1, 2]);
  at(two).answered(answer(0));
  expect(await result).toEqual(answer(0));
});

it('returns the failure of a server when no other answers', async () => {
  const { result, at } = setUp([one, two, one, two]);
  at(one).answered(answer(2));
  at(two).failed();
  expect(await result).toEqual(answer(2));
});

it('asks the next server at once when one cannot be asked, and ends when none can', async () => {
  const { result, at, sent, notes } = setUp([one, two, one, two]);
  at(one).failed();
  at(one).failed();
  expect(sent()).toEqual([1, 1]);
  at(two).failed();
  expect(await result).toBeNull();
  expect(notes).toEqual(['10.0.0.1 silent', '10.0.0.1 silent', '10.0.0.2 silent']);
});

it('does not end the turn of a server when an earlier one fails', async () => {
  const { clock, result, at, sent } = setUp([one, two]);
  await clock.advance(TURN_MS);
  at(one).failed();
  expect(sent()).toEqual([1, 1]);
  at(two).answered(answer(0));
  expect(await result).toEqual(answer(0));
});

it('ends when its signal aborts, and notes nothing that comes later', async () => {
  const { result, at, open, notes, stop } = setUp([one, two]);
  stop.abort();
  expect(await result).toBeNull();
  at(one).answered(answer(0));
  at(one).failed();
  expect([open(), notes]).toEqual([[false, false], []]);
});
