import { expect, it } from 'vitest';
import { SingleFlight } from './single-flight.ts';

it('callers during a call share the next call, which starts after they asked', async () => {
  const shared = new SingleFlight();
  const gates: PromiseWithResolvers<undefined>[] = [];
  const ask = async (key = 'a'): Promise<number> =>
    await shared.call(key, async () => {
      const begun = gates.push(Promise.withResolvers<undefined>());
      await gates[begun - 1]?.promise;
      return begun;
    });
  const begun = async (count: number): Promise<void> => expect.poll(() => gates.length).toBe(count);
  const together = [ask(), ask()];
  await begun(1);
  const later = [ask(), ask()];
  gates[0]?.resolve(undefined);
  expect(await Promise.all(together)).toEqual([1, 1]);
  await begun(2);
  const other = ask('b');
  const third = ask();
  await begun(3);
  gates[1]?.reject(new Error('gone'));
  for (const one of later) await expect(one).rejects.toThrow('gone');
  await begun(4);
  for (const gate of gates) gate.resolve(undefined);
  expect([await other, await third]).toEqual([3, 4]);
  const last = ask();
  await begun(5);
  gates[4]?.resolve(undefined);
  expect(shared.size).toBe(1);
  expect(await last).toBe(5);
  expect(shared.size).toBe(0);
});
