import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ReplicaQuestions } from '../replicas/replica-questions.ts';
import { createLogger } from '../base/log.ts';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { TinyStore } from '../../test/support/tiny-store.ts';
import type { DeliveryOfChange } from '../kds/sender/delivery.ts';
import { ReceiptQuestions, type Answerer } from './receipt-questions.ts';

const log = createLogger('silent');
const key = { type: 'MeshTimeout', mesh: 'shop', name: 'slow' };
const question = { ...key, version: 3, waitMs: 500 };
let stop = new AbortController();
beforeEach(() => (stop = new AbortController()));
afterEach(() => stop.abort());

const has = (acknowledgedMs: number): DeliveryOfChange => ({ state: 'acknowledged', sentMs: 1, acknowledgedMs, reason: null });
const away: DeliveryOfChange = { state: 'away', sentMs: null, acknowledgedMs: null, reason: null };
const zones = (count: number): string[] => Array.from({ length: count }, (_, index) => `zone-${String(index)}`);

function replicas(...answerers: Answerer[]) {
  const [store, clock] = [new TinyStore(), new ManualClock()];
  const marks: string[] = [];
  const mark = store.mark.bind(store);
  store.mark = async (id) => {
    marks.push(id);
    await mark(id);
  };
  const all = answerers.map((answer, index) => {
    const questions = new ReplicaQuestions({ store, instanceId: `replica-${String(index)}`, clock, log });
    const receipts = new ReceiptQuestions(questions, answer);
    void questions.run(stop.signal);
    return receipts;
  });
  return { clock, marks, asker: all[0] as ReceiptQuestions };
}

describe('a question to other replicas', () => {
  it('is answered for the zones that are connected there, with times and reasons', async () => {
    const asked: unknown[] = [];
    const refused: DeliveryOfChange = { state: 'refused', sentMs: 2, acknowledgedMs: null, reason: 'no' };
    const { asker } = replicas(
      async () => new Map([['east', has(99)]]),
      async (given) => {
        asked.push(given);
        return new Map([
          ['east', has(7)],
          ['north', away],
        ]);
      },
      async () => new Map([['west', refused]]),
    );
    const answer = await asker.ask(question, new Set(['east', 'west']), stop.signal);
    expect(Object.fromEntries(answer)).toEqual({ east: has(7), west: refused });
    expect(asked).toEqual([expect.objectContaining(question)]);
  });

  it('has an answer in parts that fit a notification', async () => {
    const names = zones(2_000);
    // As JSON the one has two bytes, the other six.
    const reasonOf = (index: number): string => (index % 2 === 0 ? '\u0001' : 'ä');
    const { asker, marks } = replicas(
      async () => new Map(),
      async () => new Map(names.map((name, index) => [name, { ...has(index), reason: reasonOf(index).repeat(300) }])),
    );
    const answer = await asker.ask(question, new Set(names), stop.signal);
    expect([...answer.keys()].toSorted()).toEqual(names.toSorted());
    expect(answer.get('zone-5')).toEqual({ ...has(5), reason: 'ä'.repeat(200) });
    for (const mark of marks) expect(Buffer.byteLength(JSON.stringify({ mark }))).toBeLessThan(8_000);
  });

  it('ends after its time without an answer', async () => {
    const { asker, clock } = replicas(
      async () => new Map(),
      async () => new Map([['east', has(7)]]),
    );
    const asking = asker.ask(question, new Set(['east', 'west']), stop.signal);
    await clock.advance(2_499);
    let isDone = false;
    void asking.then(() => (isDone = true));
    await clock.advance(0);
    expect(isDone).toBe(false);
    await clock.advance(1);
    expect([...(await asking).keys()]).toEqual(['east']);
  });

  it('leaves no timer behind when it is answered', async () => {
    const { asker, clock } = replicas(
      async () => new Map(),
      async () => new Map([['east', has(7)]]),
    );
    await asker.ask(question, new Set(['east']), stop.signal);
    expect(clock.sleepers).toBe(0);
  });

  it('is not answered by a replica that answers 64 others, until one of these has ended', async () => {
    const answers: PromiseWithResolvers<Map<string, DeliveryOfChange>>[] = [];
    const { asker, clock } = replicas(
      async () => new Map(),
      () => {
        const answer = Promise.withResolvers<Map<string, DeliveryOfChange>>();
        answers.push(answer);
        return answer.promise;
      },
    );
    const ask = async () => asker.ask(question, new Set(['east']), stop.signal);
    const asking = Array.from({ length: 65 }, ask);
    await clock.advance(0);
    expect(answers).toHaveLength(64);
    answers[0]?.resolve(new Map([['east', has(7)]]));
    await asking[0];
    await clock.advance(0);
    asking.push(ask());
    await clock.advance(0);
    expect(answers).toHaveLength(65);
    await clock.advance(2_500);
    const sizes = (await Promise.all(asking)).map(({ size }) => size);
    expect(sizes.filter((size) => size > 0)).toEqual([1]);
  });

  it('survives a replica that cannot answer', async () => {
    const { asker } = replicas(
      async () => new Map(),
      () => Promise.reject(new Error('the store is away')),
      async () => new Map([['east', has(1)]]),
    );
    expect((await asker.ask(question, new Set(['east']), stop.signal)).get('east')).toEqual(has(1));
  });
});
