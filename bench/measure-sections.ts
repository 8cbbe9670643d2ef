// Measures the wanted sections one after the other. Invariant: one that cannot be measured takes nothing from the results of the others.
import { messageOf } from '../src/base/errors.ts';
import type { Context, Sections } from './context.ts';
import type { Metric } from './metric.ts';

/** @property failed a sentence for each part that could not be measured */
export type Measured = { readonly metrics: readonly Metric[]; readonly failed: readonly string[] };

/** @param sections in the order in which they are measured */
export async function measureSections<S>(
  sections: readonly Sections<S>[],
  wanted: ReadonlySet<string>,
  { settings, postgres, say }: Pick<Context<S>, 'settings' | 'postgres' | 'say'>,
): Promise<Measured> {
  const metrics: Metric[] = [];
  const failed: string[] = [];
  const part: Context<S>['part'] = async (name, measure) => {
    try {
      return await measure();
    } catch (error) {
      const text = `could not measure ${name}: ${messageOf(error)}`;
      say(text);
      failed.push(text);
      return [];
    }
  };
  const context: Context<S> = { settings, postgres, say, part };
  for (const { names, measure } of sections) {
    const own = Object.keys(names).filter((name) => wanted.has(name));
    if (own.length > 0) metrics.push(...(await part(own.join(', '), async () => await measure(context, wanted))));
  }
  return { metrics, failed };
}
