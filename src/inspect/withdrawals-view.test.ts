import { expect, it } from 'vitest';
import { makeRow } from '../../test/support/make-row.ts';
import { inForceSpec, type IdentityInForce } from '../resource/identity-in-force.ts';
import { withdrawalsView } from './withdrawals-view.ts';

it('shows the identities that proxies lose, by name, and no others', () => {
  const row = (name: string, step: IdentityInForce['step'], labels = {}) => {
    const identity = { labels: { 'kuma.io/display-name': 'identity' }, spec: {} };
    const spec = inForceSpec({ identity, step, services: ['a', 'b'], since: 'then', until: '' });
    return makeRow('Secret', `${name}-in-force`, { labels, spec, status: { waiting: 3, waitsFor: ['web'] } });
  };
  const rows = [row('b', 'clients'), row('a', 'open'), row('c', 'held'), row('d', 'open', { 'kuma.io/origin': 'global' })];
  const other = makeRow('Secret', 'another-in-force', { labels: {}, spec: { data: '' } });
  const common = { name: 'identity', since: 'then', until: '', services: 2, waiting: 3, waitsFor: ['web'] };
  expect(withdrawalsView([...rows, other])).toEqual([
    { ...common, storedName: 'a', step: 'open' },
    { ...common, storedName: 'b', step: 'clients' },
  ]);
});
