// What the samples of a soak say about memory and leftovers.
import { describe, expect, it } from 'vitest';
import {
  growthOf,
  leftOver,
  longestSeries,
  moreResources,
  resourcesOf,
  summedMemory,
  type ProcessSample,
  type Sample,
} from './judge.ts';
import { activityOf } from './sampler.ts';

const SECONDS = 400;

function processOf(name: string, life: number, memoryMb: number, fields: Partial<ProcessSample> = {}): ProcessSample {
  const role = name.startsWith('replica') ? 'global' : 'zone';
  return { name, role, life, memoryMb, heapMb: 1, files: 10, resources: {}, ...fields };
}

/** One sample a second. @param at what runs then */
function samplesOf(at: (second: number) => readonly ProcessSample[]): Sample[] {
  return Array.from({ length: SECONDS }, (_, second) => ({ at: second, processes: at(second) }));
}

function points(valueAt: (second: number) => number): { at: number; value: number }[] {
  return Array.from({ length: SECONDS + 1 }, (_, at) => ({ at, value: valueAt(at) }));
}

describe('memory over a soak', () => {
  it('is flat although it grows in the first quarter', () => {
    expect(
      growthOf(
        'a',
        points((at) => (at < SECONDS / 4 ? at : 100)),
      ),
    ).toMatchObject({ secondMb: 100, lastMb: 100 });
  });

  it('grows with a leak', () => {
    const leaking = points((at) => 100 + at);
    expect(growthOf('a', leaking)).toMatchObject({ seconds: SECONDS, secondMb: 249.5, lastMb: 450 });
  });

  it('is judged without single peaks', () => {
    expect(
      growthOf(
        'a',
        points((at) => (at % 50 === 0 ? 900 : 100)),
      ),
    ).toMatchObject({ secondMb: 100, lastMb: 100 });
  });

  it('is not judged without points in a quarter', () => {
    expect(growthOf('a', [])).toBeNull();
    expect(growthOf('a', [{ at: 0, value: 1 }])).toBeNull();
    expect(
      growthOf(
        'a',
        [0, 1, 2, 399].map((at) => ({ at, value: 1 })),
      ),
    ).toBeNull();
  });

  it('is judged for the process that lived longest in each role', () => {
    const samples = samplesOf((second) => [
      processOf('replica-0', second < 100 ? 0 : 1, second < 100 ? 500 : 200),
      processOf('replica-1', Math.floor(second / 150), 300),
      processOf('zone-0', 0, 100),
    ]);
    expect(longestSeries(samples)).toMatchObject([
      { name: 'replica-0, process 2', seconds: 299, secondMb: 200, lastMb: 200 },
      { name: 'zone-0, process 1', seconds: 399, secondMb: 100, lastMb: 100 },
    ]);
  });

  it('is summed over the samples in which every process answered', () => {
    const samples = samplesOf((second) =>
      second % 3 === 0 ? [processOf('replica-0', 0, 100)] : [processOf('replica-0', 0, 100), processOf('zone-0', 0, 50)],
    );
    expect(summedMemory(samples, 2)).toMatchObject({ secondMb: 150, lastMb: 150 });
    expect(summedMemory(samples, 3)).toBeNull();
  });
});

describe('the state after a soak', () => {
  const before: Sample = {
    at: 0,
    processes: [
      processOf('replica-0', 0, 1, { files: 30, resources: { Timeout: 3, TCPSocketWrap: 20 } }),
      processOf('replica-1', 0, 1, { files: 10, resources: { Timeout: 3 } }),
      processOf('zone-0', 0, 1, { files: 8, resources: { Timeout: 2 } }),
    ],
  };

  it('is nothing when zones moved to another replica', () => {
    const after: Sample = {
      at: 9,
      processes: [
        processOf('replica-0', 1, 1, { files: 12, resources: { Timeout: 3, TCPSocketWrap: 2 } }),
        processOf('replica-1', 0, 1, { files: 28, resources: { Timeout: 3, TCPSocketWrap: 18 } }),
        processOf('zone-0', 0, 1, { files: 8, resources: { Timeout: 2 } }),
      ],
    };
    expect(leftOver(before, after, ({ files }) => files)).toEqual([
      { role: 'global', before: 40, after: 40 },
      { role: 'zone', before: 8, after: 8 },
    ]);
    expect(moreResources(before, after)).toEqual([]);
  });

  it('is a timer or a file that is still open, by kind', () => {
    const [first, second] = before.processes as [ProcessSample, ProcessSample];
    const leaking = processOf('zone-0', 0, 1, { files: 9, resources: { Timeout: 5, PipeWrap: 1 } });
    const after: Sample = { at: 9, processes: [first, second, leaking] };
    expect(leftOver(before, after, resourcesOf)).toContainEqual({ role: 'zone', before: 2, after: 6 });
    expect(leftOver(before, after, ({ files }) => files)).toContainEqual({ role: 'zone', before: 8, after: 9 });
    expect(moreResources(before, after)).toEqual(['zone Timeout +3', 'zone PipeWrap +1']);
  });
});

it('the metrics of a process hold its heap and its resources', () => {
  const text = [
    '# HELP nodejs_active_resources Open resources that keep the process alive, by kind',
    'nodejs_active_resources{type="Timeout",zone="Global"} 7',
    'nodejs_active_resources{type="TCPSocketWrap",zone="Global"} 12',
    'nodejs_heap_size_used_bytes{zone="Global"} 52000000',
  ].join('\n');
  expect(activityOf(text)).toEqual({ heapMb: 52, resources: { Timeout: 7, TCPSocketWrap: 12 } });
});
