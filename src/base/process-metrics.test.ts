import { describe, expect, it } from 'vitest';
import {
  createActivityMetrics,
  createTurnMetrics,
  createInfoMetric,
  createLeaderMetric,
  createRegistry,
  createResourcesCountMetric,
} from './process-metrics.ts';

describe('the metrics of a process', () => {
  it('report the mode, leadership and memory of the process', async () => {
    const registry = createRegistry('Global');
    const info = { product: 'Meridian', version: '1', buildDate: 'd', gitCommit: 'c', gitTag: 't', instanceId: 'i' };
    createInfoMetric(registry, info, () => Promise.resolve('abc'));
    createLeaderMetric(registry)(true);
    await createResourcesCountMetric(registry, ['Mesh'], () => Promise.resolve(7))();
    const lines = (await registry.metrics()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    expect(lines).toEqual([
      'cp_info{product="Meridian",version="1",build_date="d",git_commit="c",git_tag="t",instance_id="i",cluster_id="abc",zone="Global"} 1',
      'leader{zone="Global"} 1',
      'resources_count{resource_type="Mesh",tenant="",zone="Global"} 7',
    ]);
  });

  it('show the cluster id when it is known, and omit it while the store is unavailable', async () => {
    const registry = createRegistry('Global');
    let clusterId = (): Promise<string> => Promise.resolve('');
    const info = { product: 'Meridian', version: '1', buildDate: '', gitCommit: '', gitTag: '', instanceId: 'i' };
    createInfoMetric(registry, info, () => clusterId());
    const shown = async (): Promise<string[]> =>
      [...(await registry.metrics()).matchAll(/cluster_id="([^"]*)"/g)].map(([, id = '']) => id);
    expect(await shown()).toEqual(['']);
    clusterId = () => Promise.resolve('abc');
    expect(await shown()).toEqual(['abc']);
    clusterId = () => Promise.reject(new Error('the store is away'));
    expect(await shown()).toEqual(['']);
  });

  it('count the open resources by kind at each scrape', async () => {
    const registry = createRegistry('east');
    const open = ['Timeout', 'TCPSocketWrap', 'Timeout'];
    createActivityMetrics(registry, { resources: () => open, heapBytes: () => 1_000 });
    const shown = async (): Promise<string[]> =>
      (await registry.metrics()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    expect(await shown()).toEqual([
      'nodejs_active_resources{type="Timeout",zone="east"} 2',
      'nodejs_active_resources{type="TCPSocketWrap",zone="east"} 1',
      'nodejs_heap_size_used_bytes{zone="east"} 1000',
    ]);
    open.splice(1);
    expect(await shown()).toEqual([
      'nodejs_active_resources{type="Timeout",zone="east"} 1',
      'nodejs_heap_size_used_bytes{zone="east"} 1000',
    ]);
  });

  it('show the longest turn since the last scrape', async () => {
    const registry = createRegistry('east');
    const delays = {
      max: 0.085e9,
      percentile: () => 0.015e9,
      reset: () => {
        delays.max = 0.004e9;
      },
    };
    createTurnMetrics(registry, delays);
    const shown = async (): Promise<string[]> =>
      (await registry.metrics()).split('\n').filter((line) => line.startsWith('nodejs'));
    expect(await shown()).toEqual([
      'nodejs_eventloop_lag_max_seconds{zone="east"} 0.08',
      'nodejs_eventloop_lag_p99_seconds{zone="east"} 0.01',
    ]);
    expect((await shown())[0]).toBe('nodejs_eventloop_lag_max_seconds{zone="east"} 0');
  });

  it('read the resources of this process', async () => {
    const registry = createRegistry('east');
    createActivityMetrics(registry);
    const timer = setTimeout(() => undefined, 1_000_000);
    try {
      const text = await registry.metrics();
      expect(text).toMatch(/^nodejs_active_resources\{type="Timeout",zone="east"\} [1-9]/m);
      expect(text).toMatch(/^nodejs_heap_size_used_bytes\{zone="east"\} [1-9]/m);
    } finally {
      clearTimeout(timer);
    }
  });
});
