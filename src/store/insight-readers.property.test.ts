// Readers of the change feed come and go, while its connections end, answer late or refuse: each reader hears of every change after its
// last `all`, and of each change once. The connection listens to insights exactly while somebody reads them.
import { expect, it } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { fc } from '../../test/support/property.ts';
import { createLogger } from '../base/log.ts';
import { ChangeFeed } from './change-feed.ts';
import type { Database, OtherChannels } from './database.ts';
import type { StoreChange } from './resource-store.ts';

const RESOURCES = 'meridian_resources';
const INSIGHTS = 'meridian_insights';

type Statement = { readonly run: () => void; readonly refuse: (error: Error) => void };

/** A connection that answers its statements in their order, when the test lets it. */
class Connection {
  readonly heard = new Map<string, (payload: string) => void>();
  #waiting: Statement[] = [];
  readonly lost = Promise.withResolvers<never>();
  #isOpen = true;
  /** Whether it has answered everything. It is ended soon if not. */
  #isSound = true;

  constructor() {
    this.lost.promise.catch(() => undefined);
  }

  get isSound(): boolean {
    return this.#isOpen && this.#isSound;
  }

  async ask(run: () => void): Promise<void> {
    if (!this.#isOpen) throw new Error('the connection has ended');
    await new Promise<void>((resolve, reject) => {
      this.#waiting.push({ run: () => (run(), resolve()), refuse: reject });
    });
  }

  /** Answers the next statement. @returns whether one waited */
  answer(): boolean {
    const next = this.#waiting.shift();
    next?.run();
    return next !== undefined;
  }

  refuse(): void {
    this.#isSound &&= this.#waiting.length === 0;
    this.#waiting.shift()?.refuse(new Error('the server refuses'));
  }

  end(error: Error): void {
    this.#isOpen = false;
    this.heard.clear();
    for (const { refuse } of this.#waiting.splice(0)) refuse(error);
    this.lost.reject(error);
  }
}

/** A server that notifies the connections that listen when a change is committed. */
class Server {
  readonly clock = new ManualClock();
  readonly connections: Connection[] = [];
  readonly listen: Database['listen'] = async (channel, onListening, onPayload, signal) => {
    const connection = new Connection();
    this.connections.push(connection);
    const channels: OtherChannels = {
      add: (name, hear) => connection.ask(() => connection.heard.set(name, hear)),
      remove: (name) => connection.ask(() => connection.heard.delete(name)),
    };
    const follow = async (): Promise<never> => {
      await channels.add(channel, onPayload);
      await onListening(channels);
      return await connection.lost.promise;
    };
    const stopped = new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      signal.addEventListener('abort', () => resolve());
    });
    try {
      await Promise.race([follow(), connection.lost.promise, stopped]);
    } finally {
      // The end of a connection takes a while, too.
      await this.clock.sleep(1);
      connection.end(new Error('the connection has ended'));
    }
  };

  get connection(): Connection | undefined {
    return this.connections.at(-1);
  }

  commit(id: number, channel: string): void {
    for (const { heard } of this.connections) heard.get(channel)?.(JSON.stringify({ mark: String(id) }));
  }
}

class Reader {
  readonly seen: StoreChange[] = [];
  readonly #stop = new AbortController();
  readonly #reading: Promise<void>;
  readonly needsInsights: boolean;
  isOn = true;
  /** The changes that it must hear of, unless it reads everything after them, */
  #due: string[] = [];
  /** and those that it must hear of before that. */
  #dueFirst: string[] = [];
  readonly missed: string[] = [];
  #isCurrent = false;

  constructor(feed: ChangeFeed, needsInsights: boolean) {
    this.needsInsights = needsInsights;
    this.#reading = (async () => {
      for await (const change of feed.changes(this.#stop.signal, [needsInsights ? 'ZoneInsight' : 'MeshTimeout'])) {
        this.seen.push(change);
        this.#take(change);
      }
    })();
  }

  #take(change: StoreChange): void {
    if (change.kind === 'mark') for (const due of [this.#due, this.#dueFirst]) remove(due, change.id);
    if (change.kind !== 'all' && change.kind !== 'lost') return;
    this.missed.push(...this.#dueFirst.splice(0));
    this.#isCurrent = change.kind === 'all';
    if (this.#isCurrent) this.#due = [];
  }

  /** @param isSound whether the connection was good when this was committed */
  owe(id: number, isSound: boolean): void {
    (isSound && this.#isCurrent ? this.#dueFirst : this.#due).push(String(id));
  }

  get allMissed(): readonly string[] {
    return [...this.missed, ...this.#dueFirst, ...this.#due];
  }

  async stop(): Promise<void> {
    this.isOn = false;
    this.#stop.abort();
    await this.#reading;
  }
}

function remove(from: string[], id: string): void {
  const at = from.indexOf(id);
  if (at !== -1) from.splice(at, 1);
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('begin' as const), insights: fc.boolean() }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('end' as const), which: fc.nat(20) }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('answer' as const) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('commit' as const), insights: fc.boolean() }) },
  { weight: 10, arbitrary: fc.record({ do: fc.constant('turn' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('kill' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('refuse' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('wait' as const) }) },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

async function run(steps: readonly Step[]): Promise<void> {
  const server = new Server();
  const { clock } = server;
  const feed = new ChangeFeed({ clock, listen: server.listen } as unknown as Database, createLogger('silent'));
  const readers: Reader[] = [];
  const on = (): Reader[] => readers.filter(({ isOn }) => isOn);
  const stopping: Promise<void>[] = [];
  let commits = 0;
  const commit = (insights: boolean): void => {
    commits += 1;
    for (const reader of on()) if (!insights || reader.needsInsights) reader.owe(commits, server.connection?.isSound === true);
    server.commit(commits, insights ? INSIGHTS : RESOURCES);
  };
  for (const one of steps) {
    if (one.do === 'begin') readers.push(new Reader(feed, one.insights));
    else if (one.do === 'end') {
      const some = on();
      const reader = some[one.which % Math.max(1, some.length)];
      if (reader !== undefined) stopping.push(reader.stop());
    } else if (one.do === 'answer') server.connection?.answer();
    else if (one.do === 'refuse') server.connection?.refuse();
    else if (one.do === 'kill') server.connection?.end(new Error('killed'));
    else if (one.do === 'commit') commit(one.insights);
    else if (one.do === 'wait') await clock.advance(5_000);
    else await turn();
  }
  const settle = async (): Promise<void> => {
    for (let round = 0; round < 30; round += 1) {
      for (const connection of server.connections) while (connection.answer());
      await clock.advance(1_000);
    }
  };
  await settle();
  // The changes that are committed now have no `all` after them.
  const before = on().map(({ seen }) => seen.length);
  for (const insights of [false, true]) commit(insights);
  await settle();
  expect(readers.map(({ isOn, missed, allMissed }) => (isOn ? allMissed : missed))).toEqual(readers.map(() => []));
  expect(on().map(({ seen }, index) => seen.slice(before[index]))).toEqual(
    on().map(({ needsInsights }) =>
      [commits - 1, ...(needsInsights ? [commits] : [])].map((id) => ({ kind: 'mark', id: String(id) })),
    ),
  );
  const last = server.connection;
  expect(last?.heard.has(INSIGHTS) ?? false).toBe(on().some(({ needsInsights }) => needsInsights));
  await Promise.all(stopping);
  const stops = on().map((reader) => reader.stop());
  const closed = feed.close();
  await settle();
  await Promise.all([...stops, closed]);
}

/** A reader of insights begins on a connection that is there, and what is committed before it listens is in its first `all`. */
const late: Step[] = [
  { do: 'begin', insights: false },
  { do: 'answer' },
  { do: 'turn' },
  { do: 'begin', insights: true },
  { do: 'turn' },
  { do: 'commit', insights: true },
];

it('readers of insights that come and go miss nothing, for any events of the connection', async () => {
  await fc.assert(fc.asyncProperty(fc.array(step, { maxLength: 40 }), run), { numRuns: 2_000, examples: [[late]] });
});
