import { expect, it } from 'vitest';
import { SharedCalls } from './shared-calls.ts';

it('who asks while an answer is made shares the next one, begun after he asked', async () => {
  const shared = new SharedCalls();
  const gates: PromiseWithResolvers<undefined>[] = [];
  const ask = async (key = 'a'): Promise<number> =>
    await shared.call(key, async () => {
      const begun = gates.push(Promise.withResolvers<undefined>());
      await gates[begun - 1]?.promise;
      return begun;
    });
  const first = ask();
  const [second, third] = [ask(), ask()];
  expect(gates).toHaveLength(1);
  gates[0]?.resolve(undefined);
  expect(await first).toBe(1);
  await expect.poll(() => gates.length).toBe(2);
  const fourth = ask();
  const other = ask('b');
  expect(gates).toHaveLength(3);
  gates[1]?.reject(new Error('gone'));
  await expect(second).rejects.toThrow('gone');
  await expect(third).rejects.toThrow('gone');
  await expect.poll(() => gates.length).toBe(4);
  for (const gate of gates) gate.resolve(undefined);
  expect([await fourth, await other]).toEqual([4, 3]);
  // Nothing is left of what was answered: the next begins at once.
  const last = ask();
  gates[4]?.resolve(undefined);
  expect(await last).toBe(5);
});
