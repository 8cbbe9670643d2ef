import { expect, it } from 'vitest';
import { described } from '../../web/src/subscription.ts';

it('an insight describes its open subscription, also after the date was set back', () => {
  const open = { connectTime: '2026-01-01T00:00:00Z' };
  const ended = { connectTime: '2026-01-02T00:00:00Z', disconnectTime: '2026-01-02T01:00:00Z' };
  expect(described([open, ended])).toBe(open);
  expect(described([ended])).toBe(ended);
  expect(described()).toBeUndefined();
});
