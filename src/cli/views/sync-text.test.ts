import { expect, it } from 'vitest';
import { describeSync } from './sync-text.ts';

it('explain-sync shows the display name and the stored name', () => {
  const resource = { type: 'MeshTimeout', mesh: 'default', name: 'slow-x', labels: { 'kuma.io/display-name': 'slow' } };
  const text = describeSync({ resource, storedName: 'slow-x', from: 'global', targets: [] });
  expect(text).toContain('MeshTimeout slow (stored as slow-x), as global sees it');
});

it('explain-sync indents a refusal of several lines under its zone', () => {
  const problem = { kind: 'refused', message: 'user error\nresource already exists' };
  const target = { to: 'east', isSent: true, name: 'both', reason: 'written on global', problem };
  const resource = { type: 'Secret', mesh: 'default', name: 'both', labels: {} };
  expect(describeSync({ resource, storedName: 'both', from: 'global', targets: [target] })).toContain(
    '\n  refused: user error\n    resource already exists',
  );
});
