import { beforeEach, describe, expect, it } from 'vitest';
import { makeRow } from '../../../test/support/make-row.ts';
import type { ProxyGroup } from '../../resource/proxy-facts.ts';
import { typeOf } from '../../resource/type-registry.ts';
import type { Resource } from '../../resource/types.ts';
import { ProxyReports } from './proxy-reports.ts';

const [INSIGHT, DATAPLANE, OTHER] = ['DataplaneInsight', 'Dataplane', 'MeshService'].map((type) => typeOf(type)) as [
  ReturnType<typeof typeOf>,
  ReturnType<typeof typeOf>,
  ReturnType<typeof typeOf>,
];
const GROUPS = [{ proxies: 1 }] as unknown as readonly ProxyGroup[];

/** The steps in their order. */
let steps: unknown[];
let changed: readonly ProxyGroup[] | null;
let stored: Resource[];

beforeEach(() => {
  [steps, changed, stored] = [[], GROUPS, []];
});

/** @param awaited types whose full state is not complete */
function reportsOf(isCounting: boolean): (info: typeof INSIGHT, ...awaited: string[]) => Promise<unknown[]> {
  const reports = new ProxyReports({
    proxies: isCounting ? { takeChanged: () => changed } : null,
    rows: {
      inScope: async (types) => {
        steps.push(`reads ${types.map(({ name }) => name).join()}`);
        return stored;
      },
      delete: async (rows) => void steps.push(`deletes ${rows.map(({ name }) => name).join()}`),
    },
    report: (groups, replacesRows) => void steps.push([groups, replacesRows]),
  });
  return async (info, ...awaited) => {
    steps = [];
    await reports.kept(info.name, (type) => awaited.includes(type));
    return steps;
  };
}

describe('where insights are stored', () => {
  it('the first complete state of insights is reported once, as not counted', async () => {
    const kept = reportsOf(false);
    expect(await kept(OTHER)).toEqual([]);
    expect(await kept(DATAPLANE)).toEqual([]);
    expect(await kept(INSIGHT, 'DataplaneInsight')).toEqual([]);
    expect(await kept(INSIGHT, 'Dataplane')).toEqual([[null, false]]);
    expect(await kept(INSIGHT)).toEqual([]);
  });
});

describe('where proxies are counted', () => {
  it('they are reported when both states are complete, and whenever they change', async () => {
    const kept = reportsOf(true);
    expect(await kept(OTHER)).toEqual([]);
    expect(await kept(INSIGHT, 'Dataplane')).toEqual([]);
    expect(await kept(DATAPLANE, 'DataplaneInsight')).toEqual([]);
    expect(await kept(DATAPLANE)).toEqual(['reads DataplaneInsight', [GROUPS, false], 'deletes ']);
    expect(await kept(INSIGHT)).toEqual([[GROUPS, false], 'deletes ']);
    changed = null;
    expect(await kept(INSIGHT)).toEqual(['deletes ']);
  });

  it('the rows of insights go after the first report, which says that it replaces them', async () => {
    const kept = reportsOf(true);
    stored = [makeRow('DataplaneInsight', 'web')];
    expect(await kept(INSIGHT)).toEqual(['reads DataplaneInsight', [GROUPS, true], 'deletes web']);
    expect(await kept(INSIGHT)).toEqual([[GROUPS, false], 'deletes ']);
  });
});
