import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { describe, expect, it } from 'vitest';
import { driverText, isAnswerOverdue, isNeverSent, isNoAnswer } from './pg-errors.ts';

const { resolve } = createRequire(import.meta.url);
const driver = [resolve('pg/lib/client.js'), createRequire(resolve('pg')).resolve('pg-pool')]
  .map((file) => readFileSync(file, 'utf8'))
  .join();

describe('an error of the driver without a code', () => {
  it.each(Object.values(driverText))('has the text %j in the installed version', (text) => {
    expect(driver).toContain(text);
    expect(isNoAnswer(new Error(text))).toBe(true);
  });

  it('distinguishes a late answer from a statement that was not sent', () => {
    const [overdue, unsent] = [new Error(driverText.overdue), new Error(driverText.noConnection)];
    expect([isAnswerOverdue(overdue), isNeverSent(overdue)]).toEqual([true, false]);
    expect([isAnswerOverdue(unsent), isNeverSent(unsent)]).toEqual([false, true]);
  });

  it('is not recognized by any other text', () => {
    expect(isNoAnswer(new Error('the database does not answer on this connection'))).toBe(false);
  });
});

it('an error with the code of a socket timeout counts as no answer', () => {
  expect(isNoAnswer(Object.assign(new Error('any text'), { code: 'ETIMEDOUT' }))).toBe(true);
});
