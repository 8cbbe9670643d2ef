// Sentences about stored documents for the answers of writes: valid parts without effect, and stronger policies. Invariant: the write is
// stored, so a failure to find them is no failure of the write.
import { MeridianError } from '../base/errors.ts';
import { keyText, type ResourceKey } from '../resource/types.ts';

/** Finds the sentences, by `keyText`. @param hasShadows whether policies that others override are looked for, which costs more */
export type AdviceOn = (
  keys: readonly ResourceKey[],
  options: { readonly hasShadows: boolean },
) => Promise<ReadonlyMap<string, readonly string[]>>;

/** The warnings of each key, in their order; empty where nothing is known. */
export async function storedAdvice(
  adviceOn: AdviceOn | undefined,
  keys: readonly ResourceKey[],
  hasShadows: boolean,
): Promise<readonly (readonly string[])[]> {
  if (adviceOn === undefined) return keys.map(() => []);
  try {
    const found = await adviceOn(keys, { hasShadows });
    return keys.map((key) => found.get(keyText(key)) ?? []);
  } catch (error) {
    if (!(error instanceof MeridianError)) throw error;
    return keys.map(() => []);
  }
}
