import { expect, it } from 'vitest';
import { make } from '../../test/policy/make-resource.ts';
import { parsePolicy } from './parse-policy.ts';

it('a parsed policy has the defaults of its schema and durations in the wire form, for any stored form', () => {
  const http = { perTryTimeout: '60s', hostSelection: [{ predicate: 'OmitPreviousHosts' }] };
  const { to } = parsePolicy(make('MeshRetry', 'a', { to: [{ targetRef: { kind: 'Mesh' }, default: { http } }] }), 1);
  expect(to[0]?.conf).toEqual({
    http: { perTryTimeout: '1m0s', hostSelection: [{ predicate: 'OmitPreviousHosts', updateFrequency: 2 }] },
  });
});
