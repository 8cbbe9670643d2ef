// The advice for a writer about stored documents that are valid: parts without effect, prefixes that fit more clients, and
// policies that stronger ones override. It works in steps, because a mesh may be large.
import type { Clock } from '../base/clock.ts';
import { runInSlices, type Steps } from '../base/steps.ts';
import type { MeshIndexes } from '../mesh-index/mesh-indexes.ts';
import type { MeshIndex } from '../policy/mesh-index.ts';
import { whyShadowed } from '../policy/shadowed-policy.ts';
import { CLIENT_MATCHING_TYPES, widePrefixesOf } from '../policy/wide-prefixes.ts';
import { findType } from '../resource/type-registry.ts';
import { keyText, type Resource, type ResourceKey } from '../resource/types.ts';
import { idleParts } from './idle-parts.ts';

/** Documents of one request that get advice. */
const MAX_ADVISED = 50;
/** The types that get advice with each write; all policies do with one that waits. */
const ADVISED_AT_ONCE: readonly string[] = ['MeshHTTPRoute', 'MeshTCPRoute', 'MeshExternalService', ...CLIENT_MATCHING_TYPES];
/** Milliseconds of work before other work runs. */
const SLICE_MS = 10;

type Options = { readonly indexes: Pick<MeshIndexes, 'indexOf'>; readonly clock: Pick<Clock, 'elapsed'> };

export class WriteAdvice {
  readonly #indexes: Options['indexes'];
  readonly #clock: Options['clock'];

  constructor({ indexes, clock }: Options) {
    this.#indexes = indexes;
    this.#clock = clock;
  }

  /**
   * Sentences about rows that were stored, by `keyText`. Rejects as the store does.
   * @param hasShadows whether policies that others override are looked for, which costs more
   */
  async on(keys: readonly ResourceKey[], { hasShadows }: { readonly hasShadows: boolean }): Promise<Map<string, string[]>> {
    const advised = keys.filter(({ type }) => mayHaveAdvice(type, hasShadows)).slice(0, MAX_ADVISED);
    const found = new Map<string, string[]>();
    for (const [mesh, ofMesh] of Map.groupBy(advised, (key) => key.mesh)) {
      const index = await this.#indexes.indexOf(mesh);
      for (const key of ofMesh) {
        const row = index.get(key.type, key.name);
        if (row !== undefined)
          found.set(keyText(key), await runInSlices(adviceOn(index, row, { hasShadows }), SLICE_MS, this.#clock));
      }
    }
    return found;
  }
}

function mayHaveAdvice(type: string, hasShadows: boolean): boolean {
  return ADVISED_AT_ONCE.includes(type) || (hasShadows && (findType(type)?.policy ?? null) !== null);
}

/** Sentences about one row of an index. */
export function* adviceOn(
  index: MeshIndex,
  row: Resource,
  { hasShadows = true }: { readonly hasShadows?: boolean } = {},
): Steps<string[]> {
  const parts = [...(yield* idleParts(index, row)), ...(yield* widePrefixesOf(index, row))];
  const sentences = parts.map(({ field, reason }) => `${field}: ${reason}`);
  const policy = hasShadows ? index.policyOf(row) : undefined;
  const shadow = policy === undefined ? null : yield* whyShadowed(index, policy);
  return shadow === null ? sentences : [...sentences, shadow];
}
