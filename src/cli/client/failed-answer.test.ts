import { expect, it } from 'vitest';
import { ApiError, errorBody } from '../../http/error-body.ts';
import { requireAccess } from '../../http/access.ts';
import { anonymousUser } from '../../token/authenticate-request.ts';
import { failedAnswer } from './failed-answer.ts';

const answerTo = (refuse: () => void, isKnown = false): Error => {
  try {
    refuse();
  } catch (error) {
    const body = errorBody(error);
    return failedAnswer(body.status, body, '', { isKnown });
  }
  throw new Error('it is not refused');
};

it('the error of a refused caller without a token says how to send one', () => {
  const { message } = answerTo(() => requireAccess(anonymousUser, 'generateUserToken'));
  expect(message).toContain('may not generate user tokens; send a token of an allowed user');
  expect(message).toContain('Send a token with --token-file');
});

it('the error of a refused user with a valid token names the rule, and asks for no token', () => {
  const { message } = answerTo(() => requireAccess({ name: 'ann', groups: [] }, 'generateUserToken'), true);
  expect(message).toMatch(/user "ann" may not generate user tokens; list this user .* access.static.generateUserToken/);
  expect(message).not.toMatch(/send a token/i);
});

it.each([400, 401, 403, 405])(
  'an answer %i of another server says that it is no REST API, and gives no advice about tokens',
  (status) => {
    const { code, message } = failedAnswer(status, undefined, 'Missing ALPN Protocol, expected `h2`', { isKnown: false });
    expect(code).toBe('invalid');
    expect(message).toContain(`the server at this address answers with status ${String(status)} and not as a control plane`);
    expect(message).not.toMatch(/token|ALPN/);
  },
);

it('a refused Host header is not answered with advice about tokens', () => {
  const answer = answerTo(() => {
    throw new ApiError('forbidden', 'Access Denied', 'Host: not a name', [{ field: 'Host', reason: 'not a name' }]);
  });
  expect(answer.message).not.toContain('token');
  expect(answer).toMatchObject({ code: 'forbidden', violations: [{ field: 'Host', reason: 'not a name' }] });
});
