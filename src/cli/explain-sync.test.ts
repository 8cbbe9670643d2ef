import { expect, it } from 'vitest';
import { describeSync } from './explain-sync.ts';

it('a refusal of several lines stays under its zone', () => {
  const problem = { kind: 'refused', message: 'user error\nresource already exists' };
  const target = { to: 'east', isSent: true, name: 'both', reason: 'written on global', section: 'kds-wire 5.2.4', problem };
  const resource = { type: 'Secret', name: 'both' };
  expect(describeSync({ resource, storedName: 'both', from: 'global', targets: [target] })).toContain(
    '\n  refused: user error\n    resource already exists',
  );
});
