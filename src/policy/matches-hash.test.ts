// The hash of route matches (policies 3.4).
import { expect, it } from 'vitest';
import { canonicalMatches, matchesHash } from './matches-hash.ts';

it('hashes the canonical JSON', () => {
  expect(matchesHash([{ path: { value: '/', type: 'Exact' } }])).toBe('JNNc6//C3P17nUsOJm5f4kqG+U3v8pXhS0od9C3+oss=');
  expect(matchesHash([{ path: { type: 'Exact', value: '/' } }])).toBe('JNNc6//C3P17nUsOJm5f4kqG+U3v8pXhS0od9C3+oss=');
});

it('puts keys in the order of the hash', () => {
  const match = {
    headers: [{ value: 'v', name: 'n', type: 'Exact' }],
    method: 'GET',
    queryParams: [{ name: 'q', type: 'Exact', value: '1' }],
    path: { type: 'Exact', value: '/' },
  };
  expect(JSON.stringify(canonicalMatches([match]))).toBe(
    '[{"path":{"value":"/","type":"Exact"},"method":"GET","queryParams":[{"type":"Exact","name":"q","value":"1"}],"headers":[{"type":"Exact","name":"n","value":"v"}]}]',
  );
});

it('tells matches apart and reads anything', () => {
  expect(matchesHash([{ path: { type: 'Exact', value: '/<a>' } }])).not.toBe(
    matchesHash([{ path: { type: 'Exact', value: '/a' } }]),
  );
  expect(matchesHash(undefined)).toBe(matchesHash('nonsense'));
});
