import { expect, test } from 'vitest';
import type { Sections } from '../../bench/context.ts';
import { measureSections } from '../../bench/measure-sections.ts';
import type { Metric } from '../../bench/metric.ts';

const metric = (section: string): Metric => ({ section, name: 'time', unit: 'ms', meridian: 1 });
const fails = async (): Promise<Metric[]> => await Promise.reject(new Error('not all had it in time'));

function measure(sections: readonly Sections<object>[], wanted: readonly string[]): ReturnType<typeof measureSections> {
  const postgres = async (): Promise<never> => await Promise.reject(new Error('no server'));
  return measureSections(sections, new Set(wanted), { settings: {}, postgres, say: () => undefined });
}

const good = (name: string): Sections<object> => ({
  names: { [name]: name },
  measure: async () => await Promise.resolve([metric(name)]),
});

test('a section that cannot be measured is named, and the results of the others stay', async () => {
  const bad: Sections<object> = { names: { bad: 'bad' }, measure: fails };
  const { metrics, failed } = await measure([good('first'), bad, good('last')], ['first', 'bad', 'last']);
  expect(metrics.map(({ section }) => section)).toEqual(['first', 'last']);
  expect(failed).toEqual(['could not measure bad: not all had it in time']);
});

test('a part of a section that cannot be measured is named, and the other parts stay', async () => {
  const parts: Sections<object> = {
    names: { one: 'one', two: 'two' },
    measure: async ({ part }) => [
      ...(await part('one', fails)),
      ...(await part('two', async () => await Promise.resolve([metric('two')]))),
    ],
  };
  const { metrics, failed } = await measure([parts], ['one', 'two']);
  expect(metrics.map(({ section }) => section)).toEqual(['two']);
  expect(failed).toEqual(['could not measure one: not all had it in time']);
});

test('without a failure none is named, and a section that is not wanted is not measured', async () => {
  const { metrics, failed } = await measure([good('first'), { names: { bad: 'bad' }, measure: fails }], ['first']);
  expect(metrics.map(({ section }) => section)).toEqual(['first']);
  expect(failed).toEqual([]);
});
