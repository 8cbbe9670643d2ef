// The resources that one proxy refuses, each at the version that it refused last.
import { withoutKeys } from '../base/hidden-keys.ts';
import { SparseMap } from '../base/sparse-map.ts';
import type { XdsRefusal, XdsResource, XdsResponse, XdsType, XdsView } from './session-messages.ts';

const NO_REFUSALS: readonly XdsRefusal[] = [];
/** The end of a longer text that Envoy has cut (xds 4). */
const CUT = '...(truncated)';
/** Characters before that end. */
const MAX_REASON = 4_096;

/** A refusal as Envoy sends it, without keys: cut, with the same end, where it is longer. */
export function boundedReason(text: string): string {
  return withoutKeys(text.length <= MAX_REASON + CUT.length ? text : text.slice(0, MAX_REASON) + CUT);
}

export class RefusedResources {
  readonly #refusals = new SparseMap<string, XdsRefusal>();

  get size(): number {
    return this.#refusals.size;
  }

  /** Those that are refused at the version of the view. */
  standing(view: XdsView): readonly XdsRefusal[] {
    if (this.#refusals.size === 0) return NO_REFUSALS;
    return [...this.#refusals.entries.values()].filter(({ type, name, version }) => view.get(type, name)?.version === version);
  }

  has(type: XdsType, name: string, version: string): boolean {
    return this.#refusals.get(keyOf(type, name))?.version === version;
  }

  /**
   * Replaces the answers about earlier versions by this one.
   * @returns the resources that it refuses for certain: those that it names, or the only one that there is; null if it accepts all
   */
  answered({ type, resources, removed }: XdsResponse, reason: string | null): readonly XdsRefusal[] | null {
    if (this.#refusals.size > 0) {
      for (const { name } of resources) this.#refusals.delete(keyOf(type, name));
      for (const name of removed) this.#refusals.delete(keyOf(type, name));
    }
    if (reason === null) return null;
    const named = namedIn(reason, resources);
    const refused = (resources.length === 1 ? resources : named).map(({ name, knownAs, version }) => ({
      ...{ type, name, version, reason },
      ...(knownAs !== undefined && { knownAs }),
    }));
    for (const refusal of refused) this.#refusals.set(keyOf(type, refusal.name), refusal);
    return refused;
  }
}

function keyOf(type: XdsType, name: string): string {
  return JSON.stringify([type, name]);
}

/**
 * The resources that a refusal names as Envoy lists them, `NAME: why` (xds 4). Other names in it, such as those in the content of an invalid
 * resource, prove nothing.
 */
function namedIn(reason: string, resources: readonly XdsResource[]): XdsResource[] {
  const words = new Set(reason.split(/\s+/));
  return resources.filter(({ name }) => words.has(`${name}:`));
}
