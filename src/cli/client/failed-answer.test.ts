import { expect, it } from 'vitest';
import { ApiError, errorBody } from '../../api/error-body.ts';
import { requireAccess } from '../../api/access.ts';
import { failedAnswer } from './failed-answer.ts';

const answerTo = (refuse: () => void): Error => {
  try {
    refuse();
  } catch (error) {
    const body = errorBody(error);
    return failedAnswer(body.status, body, '');
  }
  throw new Error('it is not refused');
};

it('the error of a refused user says how to send a token', () => {
  const { message } = answerTo(() => requireAccess({ name: 'ann', groups: [] }, 'generateUserToken'));
  expect(message).toContain('may not generate user tokens');
  expect(message).toContain('Send a token with --token-file');
});

it('a refused Host header is not answered with advice about tokens', () => {
  const answer = answerTo(() => {
    throw new ApiError('forbidden', 'Access Denied', 'Host: not a name', [{ field: 'Host', reason: 'not a name' }]);
  });
  expect(answer.message).not.toContain('token');
  expect(answer).toMatchObject({ code: 'forbidden', violations: [{ field: 'Host', reason: 'not a name' }] });
});
