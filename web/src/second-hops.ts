// In a zone: which other zones have the changes in sight. Global is asked for all of them at once, and only for those in sight.
import { useRef } from 'preact/hooks';
import type { Answer } from '../../src/answers/answers.ts';
import { changesOf } from './concerns.ts';
import { useLive } from './live.ts';
import { get } from './session.ts';

type Item = Answer<'OnwardSummary'>;
export type SecondHop = Omit<Item, 'id'>;

/** Changes of one question. */
const MAX_ASKED = 50;
/** A scroll asks when it rests. */
const REST_MS = 150;

/** @param ids the numbers of the changes in sight; the first 50 of them count. @returns what is known of each change so far */
export function useSecondHops(ids: readonly number[]): ReadonlyMap<number, SecondHop> {
  const known = useRef(new Map<number, SecondHop>());
  const asked = ids.slice(0, MAX_ASKED);
  const load = async (signal: AbortSignal): Promise<readonly Item[]> => {
    await new Promise((resolve) => setTimeout(resolve, REST_MS));
    if (asked.length === 0 || signal.aborted) return [];
    return (await get<{ items: Item[] }>(`/_changes/_onward?ids=${asked.join(',')}`, signal)).items;
  };
  const concerns = changesOf(({ id }) => asked.includes(id));
  const { data = [] } = useLive(`second hops ${asked.join(',')}`, ['changes'], load, { concerns, isUnsettled });
  for (const { id, ...hop } of data) known.current.set(id, hop);
  return known.current;
}

/** The answers of the other zones cause no events here. */
function isUnsettled(items: readonly Item[]): boolean {
  return items.some(({ onward }) => onward !== undefined && onward.outcome !== 'everywhere');
}
