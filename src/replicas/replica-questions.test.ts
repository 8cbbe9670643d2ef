import { afterEach, beforeEach, expect, it } from 'vitest';
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

/** A replica that answers for these zones. */
async function replica(instanceId: string, zones: readonly string[]) {
  const answer = async (question: string): Promise<Row[]> => {
    answered.push(question);
    return zones.map((zone) => [zone, `${question} by ${instanceId}`]);
  };
  const questions = new ReplicaQuestions<string, Row>({ store, instanceId, clock, log, subject: 'test', answer });
  const run = { hasEnded: false };
  void questions.run(stop.signal).finally(() => (run.hasEnded = true));
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
