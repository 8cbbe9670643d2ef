import { expect, it } from 'vitest';
import { withdrawalText } from './withdrawal-text.ts';

const open = { name: 'identity', storedName: 'identity', step: 'open', since: '2026-01-01T00:00:00.000Z', until: '' } as const;

it('has the step of a withdrawal, its services, the proxies that it waits for, and the time', () => {
  expect(withdrawalText({ ...open, services: 3, waiting: 2, waitsFor: ['cart-1'] })).toBe(
    [
      'Withdrawal     of MeshIdentity identity: open: its proxies take plain text too',
      'Since          2026-01-01T00:00:00.000Z',
      'Services       3',
      'Waits for      cart-1 and 1 more, ten minutes at most',
    ].join('\n'),
  );
  const trust = { ...open, step: 'trust', until: '2026-01-02T00:00:00.000Z', services: 0, waiting: 0, waitsFor: [] } as const;
  expect(
    withdrawalText({ ...trust, name: 'a\nb', waitsFor: [] })
      .split('\n')
      .slice(-2),
  ).toEqual(['Since          2026-01-01T00:00:00.000Z', 'Not before     2026-01-02T00:00:00.000Z']);
});
