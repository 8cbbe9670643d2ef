import { expect, it, vi } from 'vitest';
import { makeRow } from '../../test/support/make-row.ts';
import { proxyProblems } from './proxy-problems.ts';

const problem = { kind: 'leftOut', at: 'networking.outbound[0]', reason: 'no such port', policies: [] };
const insights = [
  makeRow('DataplaneInsight', 'sick', { status: { proxyProblems: [problem] } }),
  makeRow('DataplaneInsight', 'well'),
];
const asked = insights.map(({ mesh, name }) => ({ mesh, name }));

it('finds the problems of the proxies of a zone', async () => {
  const found = await proxyProblems({ store: { getMany: async () => insights }, zone: 'east' }, asked);
  expect([...found.values()]).toEqual([[problem]]);
});

it('reads no insights on a global, whose copies have no status', async () => {
  const getMany = vi.fn(async () => insights);
  expect(await proxyProblems({ store: { getMany }, zone: null }, asked)).toEqual(new Map());
  expect(getMany).not.toHaveBeenCalled();
});
