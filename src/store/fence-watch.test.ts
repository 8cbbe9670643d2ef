import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { following } from '../../test/support/following.ts';
import { TinyStore } from '../../test/support/tiny-store.ts';
import { FenceWatch } from './fence-watch.ts';

let store: TinyStore;
let fences: FenceWatch;
let stop: AbortController;
let running: Promise<void>;
let lost: string[];

beforeEach(() => {
  store = new TinyStore();
  fences = new FenceWatch(store, following);
  stop = new AbortController();
  running = fences.run(stop.signal);
  lost = [];
});

afterEach(async () => {
  stop.abort();
  await running;
});

async function open(peer: string, name: string): Promise<() => void> {
  return fences.watch({ peer, epoch: await store.acquireFencingToken(peer) }, () => lost.push(name));
}

describe('a receiver', () => {
  it('is notified once of a newer receiver of its peer, and of no other peer', async () => {
    await open('east', 'first');
    await open('west', 'of west');
    await open('east', 'second');
    await vi.waitFor(() => expect(lost).toEqual(['first']));
    await open('east', 'third');
    await vi.waitFor(() => expect(lost).toEqual(['first', 'second']));
  });

  it('is not notified after its end', async () => {
    const close = await open('east', 'first');
    close();
    await open('east', 'second');
    await open('west', 'a');
    await open('west', 'b');
    await vi.waitFor(() => expect(lost).toEqual(['a']));
  });

  it('is notified at once of a newer receiver that opened before the watch', async () => {
    const epoch = await store.acquireFencingToken('east');
    await open('east', 'second');
    await vi.waitFor(async () => {
      const late = vi.fn();
      fences.watch({ peer: 'east', epoch }, late);
      expect(late).toHaveBeenCalledOnce();
    });
    expect(lost).toEqual([]);
  });

  it('is notified of fences acquired while the feed was lost, for any peer name', async () => {
    const peer = 'a "strange"\nepoch 7 name';
    await open(peer, 'first');
    stop.abort();
    await running;
    await store.acquireFencingToken(peer);
    stop = new AbortController();
    running = fences.run(stop.signal);
    await vi.waitFor(() => expect(lost).toEqual(['first']));
  });

  it('is not compared with the epochs of a database that another one has replaced', async () => {
    for (const name of ['first', 'second', 'third']) await open('east', name);
    await vi.waitFor(() => expect(lost).toEqual(['first', 'second']));
    stop.abort();
    await running;
    const epochs = vi.spyOn(store, 'epochs').mockResolvedValue([{ peer: 'east', epoch: 1 }]);
    stop = new AbortController();
    running = fences.run(stop.signal);
    await vi.waitFor(() => expect(epochs).toHaveBeenCalled());
    await new Promise(setImmediate);
    fences.watch({ peer: 'east', epoch: 1 }, () => lost.push('of the restored'));
    expect(lost).toEqual(['first', 'second']);
  });

  it('is watched until the signal aborts, and no longer', async () => {
    let isRunning = true;
    void running.finally(() => (isRunning = false));
    await open('east', 'first');
    await open('east', 'second');
    await vi.waitFor(() => expect(lost).toEqual(['first']));
    expect(isRunning).toBe(true);
    stop.abort();
    await vi.waitFor(() => expect(isRunning).toBe(false));
  });
});
