import { describe, expect, it } from 'vitest';
import type { ProxyGroup } from '../resource/proxy-facts.ts';
import type { SyncEvent } from '../kds/protocol/sync-events.ts';
import { countedProxies, foldProxies, renderProxies } from './zone-proxies.ts';

const group: ProxyGroup = {
  ...{ mesh: 'shop', isGateway: false, status: 'online', kumaDp: '1', envoy: null },
  ...{ issuedBackend: null, supportedBackends: ['ca'], proxies: 3 },
};
const counted = (epoch: number, groups: readonly ProxyGroup[] | null): SyncEvent => {
  return { kind: 'counted', peer: 'east', streamId: 's', epoch, groups, replacesRows: false };
};

describe('the counts of the proxies of a zone', () => {
  it('are read as they were stored', () => {
    expect(countedProxies(renderProxies({}, { epoch: 1, groups: [group] }))).toEqual([group]);
    expect(countedProxies(renderProxies({}, { epoch: 1, groups: [] }))).toEqual([]);
  });

  it('are those of the newest receiver, in any order of arrival', () => {
    const old = { epoch: 1, groups: [group] };
    const later = { epoch: 2, groups: [{ ...group, proxies: 4 }] };
    expect(renderProxies(renderProxies({}, old), later)).toEqual(renderProxies({}, later));
    expect(renderProxies(renderProxies({}, later), old)).toEqual(renderProxies({}, later));
    expect(foldProxies(foldProxies(null, counted(2, [])), counted(1, [group]))).toEqual({ epoch: 2, groups: [] });
  });

  it('stay while no receiver of the process has counted', () => {
    const stored = renderProxies({}, { epoch: 1, groups: [group] });
    expect(renderProxies(stored, null)).toEqual(stored);
    expect(renderProxies({}, null)).toEqual({});
  });

  it('end with a receiver that stores insights, and an older one does not bring them back', () => {
    const stored = renderProxies({}, { epoch: 1, groups: [group] });
    const ended = renderProxies(stored, foldProxies(null, counted(2, null)));
    expect([ended, countedProxies(ended)]).toEqual([{ proxies: { epoch: 2 } }, null]);
    expect(countedProxies(renderProxies(ended, { epoch: 1, groups: [group] }))).toBeNull();
  });

  it('take no field where insights have always been stored', () => {
    expect(renderProxies({}, { epoch: 7, groups: null })).toEqual({});
  });

  it.each([{}, { proxies: 5 }, { proxies: { groups: 'x' } }])('are none in the status %j', (status) => {
    expect(countedProxies(status)).toBeNull();
  });
});
