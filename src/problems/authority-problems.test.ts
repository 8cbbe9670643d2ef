import { beforeAll, describe, expect, it } from 'vitest';
import { makeRow } from '../../test/support/make-row.ts';
import { createAuthority } from '../identity/authority.ts';
import type { Resource } from '../resource/types.ts';
import { authorityProblems } from './authority-problems.ts';

const DAY_MS = 24 * 3_600_000;
const NOW = new Date('2026-01-02T00:00:00.000Z');
/** An authority lives for ten years. */
const LIFE_DAYS = 3_650;

/** The certificates of authorities, by the days until their end. */
const endingIn = new Map<number, string>();

beforeAll(async () => {
  for (const days of [-1, 29, 31]) {
    const began = new Date(NOW.getTime() + (days - LIFE_DAYS) * DAY_MS);
    endingIn.set(days, (await createAuthority('shop.mesh.local', began)).certPem);
  }
});

function trust(name: string, trustDomain: string, ...days: readonly number[]): Resource {
  const caBundles = days.map((of) => ({ type: 'Pem', pem: { value: endingIn.get(of) ?? '' } }));
  const labels = { 'kuma.io/display-name': name };
  return makeRow('MeshTrust', `${name}-1`, { mesh: 'shop', labels, spec: { trustDomain, caBundles } });
}

describe('a trust domain', () => {
  it('is a problem when its last authority ends within 30 days, or has ended', () => {
    const found = authorityProblems([trust('long', 'a', 31), trust('soon', 'b', 29), trust('gone', 'c', -1)], NOW);
    expect(found).toMatchObject([
      {
        ...{
          id: 'authorityEnds/shop/b',
          type: 'MeshTrust',
          mesh: 'shop',
          resources: ['soon'],
          until: '2026-01-31T00:00:00.000Z',
        },
        message: expect.stringMatching(/trust domain b in mesh shop ends at 2026-01-31/) as string,
      },
      {
        ...{ id: 'authorityEnds/shop/c', resources: ['gone'], until: '2026-01-01T00:00:00.000Z' },
        message: expect.stringContaining('has ended at 2026-01-01') as string,
      },
    ]);
  });

  it('is none while another of its authorities lasts, in the same MeshTrust or another one', () => {
    expect(authorityProblems([trust('rotated', 'a', 29, 31), trust('old', 'b', 29), trust('new', 'b', 31)], NOW)).toEqual([]);
  });

  it('is none without a certificate that can be read', () => {
    const unreadable = makeRow('MeshTrust', 't', { spec: { trustDomain: 'a', caBundles: [{ pem: { value: 'none' } }] } });
    expect(authorityProblems([unreadable, makeRow('MeshTrust', 'u')], NOW)).toEqual([]);
  });
});
