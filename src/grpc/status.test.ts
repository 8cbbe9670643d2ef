// The status with which a stream ends (kds-wire 2.6).
import { status as code } from '@grpc/grpc-js';
import { expect, it } from 'vitest';
import { MeridianError, type ErrorCode } from '../base/errors.ts';
import { canceled, exhausted, isOwnFailure, statusOf, StatusError } from './status.ts';

it.each<[ErrorCode, code]>([
  ['invalid', code.INVALID_ARGUMENT],
  ['bad_request', code.INVALID_ARGUMENT],
  ['too_large', code.INVALID_ARGUMENT],
  ['forbidden', code.UNAUTHENTICATED],
  ['conflict', code.ABORTED],
  ['unavailable', code.UNAVAILABLE],
  ['not_found', code.INTERNAL],
  ['internal', code.INTERNAL],
])('an error %s ends a stream with status %i and its message', (given, expected) => {
  expect(statusOf(new MeridianError(given, 'why'))).toMatchObject({ code: expected, details: 'why', message: 'why' });
});

it('another error is internal, and a status stays as it is', () => {
  expect(statusOf(new Error('why'))).toMatchObject({ code: code.INTERNAL, details: 'why' });
  const ended = canceled('done');
  expect(statusOf(ended)).toBe(ended);
  expect([ended.code, exhausted('no').code]).toEqual([code.CANCELLED, code.RESOURCE_EXHAUSTED]);
});

it('the details are well-formed and have a thousand characters at most', () => {
  const { details } = new StatusError(code.INTERNAL, `${'x'.repeat(999)}😀`);
  expect([details.length, details.isWellFormed(), details.endsWith('x\ufffd')]).toEqual([1_000, true, true]);
});

it('UNAVAILABLE is a failure of this process, every other status is an error of the caller', () => {
  const errors = [
    new MeridianError('unavailable', 'why'),
    new MeridianError('forbidden', 'why'),
    exhausted('no'),
    canceled('done'),
  ];
  expect(errors.map(isOwnFailure)).toEqual([true, false, false, false]);
});
