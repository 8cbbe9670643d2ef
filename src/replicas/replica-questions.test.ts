import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createLogger } from '../base/log.ts';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { TinyStore } from '../../test/support/tiny-store.ts';
import { ReplicaQuestions } from './replica-questions.ts';

const log = createLogger('silent');
let clock: ManualClock;
let store: TinyStore;
let stop: AbortController;
let answered: unknown[];
beforeEach(() => {
  clock = new ManualClock();
  store = new TinyStore();
  stop = new AbortController();
  answered = [];
});
afterEach(() => stop.abort());

type Row = readonly [zone: string, text: string];

/** A replica that answers when its question ends. */
async function slowReplica(instanceId: string) {
  const open = { questions: 0 };
  const answer = async (_question: string, signal: AbortSignal): Promise<Row[]> => {
    open.questions += 1;
    await clock.sleep(300_000, signal);
    open.questions -= 1;
    return [['east', 'late']];
  };
  const channel = new ReplicaQuestions({ store, instanceId, clock, log });
  const questions = channel.about<string, Row>('test', answer);
  void channel.run(stop.signal);
  await clock.advance(0);
  return { questions, open };
}

/** A replica that answers for these zones. */
async function replica(instanceId: string, zones: readonly string[]) {
  const answer = async (question: string): Promise<Row[]> => {
    answered.push(question);
    return zones.map((zone) => [zone, `${question} by ${instanceId}`]);
  };
  const channel = new ReplicaQuestions({ store, instanceId, clock, log });
  const questions = channel.about<string, Row>('test', answer);
  const run = { hasEnded: false };
  void channel.run(stop.signal).finally(() => (run.hasEnded = true));
  await clock.advance(0);
  return { questions, run };
}

const encoded = (message: unknown): string => Buffer.from(JSON.stringify(message)).toString('base64url');

it('replicas ignore marks that are no question and no answer', async () => {
  const { questions, run } = await replica('a', []);
  await replica('b', ['east']);
  const asked = questions.ask('q', new Set(['east']), 0, stop.signal);
  const wrong = ['x', encoded(null), encoded([]), encoded({ id: 1, by: 'b', rows: [] }), encoded({ id: 'i', rows: [] })];
  for (const text of wrong) for (const kind of ['?', '!']) await store.mark(`test ${kind} ${text}`);
  for (const rows of ['x', [null], [[]], [['east']].map(([zone]) => ({ zone })), null])
    await store.mark(`test ! ${encoded({ id: 'i', by: 'b', rows })}`);
  await clock.advance(0);
  expect((await asked).get('east')).toEqual(['east', 'q by b']);
  expect(answered).toEqual(['q']);
  expect(run.hasEnded).toBe(false);
  expect((await questions.ask('again', new Set(['east']), 0, stop.signal)).get('east')).toEqual(['east', 'again by b']);
});

it('a question of a caller who has gone ends at the other replica too', async () => {
  const { questions } = await replica('a', []);
  const { open } = await slowReplica('b');
  const gone = new AbortController();
  const asked = Array.from({ length: 70 }, () => questions.ask('q', new Set(['east']), 300_000, gone.signal));
  await clock.advance(0);
  expect(open.questions).toBe(64);
  const sent = vi.spyOn(store, 'mark');
  gone.abort();
  await Promise.all(asked);
  await expect.poll(() => open.questions).toBe(0);
  await clock.advance(0);
  expect(sent.mock.calls.filter(([id]) => id.startsWith('test !'))).toEqual([]);
});

it('replicas answer about several subjects, and ignore a subject that they do not know', async () => {
  const [asking, other] = ['a', 'b'].map((instanceId) => new ReplicaQuestions({ store, instanceId, clock, log }));
  const subjectsOf = (channel: ReplicaQuestions | undefined, names: readonly string[]) =>
    names.map((name) => channel?.about<string, Row>(name, async (question) => [['east', `${name} ${question}`]]));
  const subjects = subjectsOf(asking, ['one', 'two', 'three']);
  subjectsOf(other, ['one', 'two']);
  for (const channel of [asking, other]) void channel?.run(stop.signal);
  await clock.advance(0);
  const answers = Promise.all(subjects.map(async (subject) => subject?.ask('q', new Set(['east']), 0, stop.signal)));
  await clock.advance(2_000);
  expect((await answers).map((rows) => rows?.get('east')?.[1])).toEqual(['one q', 'two q', undefined]);
});
