import { expect, it } from 'vitest';
import { rotationText } from './rotation-text.ts';

const none = { mesh: 'shop', name: 'identity', authority: 'ab12', step: 'none', waiting: 0, waitsFor: [], until: '' } as const;

it('has the step of a rotation, the proxies that it waits for, and the time', () => {
  expect(rotationText({ ...none, waitsFor: [] })).toBe(
    'MeshIdentity   identity of mesh shop\nAuthority      ab12\nRotation       no rotation',
  );
  const waits = { step: 'distribute', waiting: 7, waitsFor: ['cart-1', 'cart-2'], until: '2026-01-01T00:10:00.000Z' } as const;
  const text = rotationText({ ...none, ...waits, waitsFor: [...waits.waitsFor] });
  expect(text).toContain('Waits for      the acceptance of the trust bundle: cart-1, cart-2 and 5 more');
  expect(text).toContain('Not before     2026-01-01T00:10:00.000Z');
  expect(rotationText({ ...none, step: 'renew', waiting: 1, waitsFor: ['a\nb'] })).toContain('of the next authority: a\\nb');
});
