// The known key that is most similar to an unknown one.
import { expect, it } from 'vitest';
import { nearestKey } from './nearest-key.ts';

it.each([
  ['requestTimout', 'requestTimeout'],
  ['reqeustTimeout', 'requestTimeout'],
  ['RequestTimeout', 'requestTimeout'],
  ['idletimeout', 'idleTimeout'],
  ['htpp', 'http'],
  ['x', null],
  ['abcd', null],
  ['x'.repeat(1_000_000), null],
])('the nearest key is found for %s', (key, nearest) => {
  expect(nearestKey(key, ['requestTimeout', 'idleTimeout', 'http'])).toBe(nearest);
});
