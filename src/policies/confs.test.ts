// A mistyped field of a conf does not compile: the type check fails where one of the marked lines is right.
import { expect, it } from 'vitest';
import type { Conf } from './confs.ts';

it('the conf of a type has its fields alone, each with the values of its schema', () => {
  const timeout: Conf<'MeshTimeout'> = { http: { requestTimeout: '5s' } };
  const tls: Conf<'MeshTLS'> = { mode: 'Strict' };
  // @ts-expect-error a field that the schema does not have
  expect(timeout.http?.requestTimeuot).toBeUndefined();
  // @ts-expect-error a value that the schema does not have
  expect(tls.mode === 'Strickt').toBe(false);
  // @ts-expect-error a conf of another type
  const retry: Conf<'MeshRetry'> = { http: { requestTimeout: '5s' } };
  expect(retry).toBeDefined();
});
