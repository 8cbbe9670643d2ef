import { expect, it } from 'vitest';
import { ZoneQuestions } from './zone-questions.ts';

const never = new AbortController().signal;
const bytes = Buffer.from('x');

it('global answers a limited number of questions of a zone at the same time, and others meanwhile', async () => {
  const open: (() => void)[] = [];
  const questions = new ZoneQuestions(async ({ zone }) => {
    if (zone === 'east') await new Promise<void>((resolve) => open.push(resolve));
    return Buffer.from(zone);
  });
  const ask = (zone: string): Promise<Buffer> => questions.answer({ zone, hasHashedNames: true }, bytes, never);
  const waiting = Array.from({ length: 16 }, () => ask('east'));
  await expect(ask('east')).rejects.toThrow('16 questions of zone east are being answered; ask again later');
  expect((await ask('west')).toString()).toBe('west');
  for (const end of open.splice(0)) end();
  await Promise.all(waiting);
  const again = ask('east');
  open.pop()?.();
  expect((await again).toString()).toBe('east');
});
