import { expect, it } from 'vitest';
import { unreachable } from './unreachable.ts';

it.each([
  ['ECONNREFUSED', /Nothing listens there\. Wait if it is starting; use https:/],
  ['ECONNRESET', /try https:\/\//],
  ['EPROTO', /speaks another protocol/],
  ['ENOTFOUND', /name another with --address/],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', /--ca-cert-file/],
])('an address that fails with %s has the remedy for it', (code, remedy) => {
  const { message } = unreachable('http://127.0.0.1:5681', Object.assign(new Error('raw text'), { code }), 1_000);
  expect(message).toContain(`cannot reach a control plane at http://127.0.0.1:5681 (${code}).`);
  expect(message).toMatch(remedy);
});
