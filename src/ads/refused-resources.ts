// The resources that one proxy refuses, each at the version that it refused last.
import type { XdsRefusal, XdsResource, XdsResponse, XdsType, XdsView } from './session-messages.ts';

const NO_REFUSALS: readonly XdsRefusal[] = [];
/** The end of a longer text that Envoy has cut (xds 4). */
const CUT = '...(truncated)';
/** Characters before that end. */
const MAX_REASON = 4_096;

/** A refusal as Envoy sends it: cut, with the same end, where it is longer. */
export function boundedReason(text: string): string {
  return text.length <= MAX_REASON + CUT.length ? text : text.slice(0, MAX_REASON) + CUT;
}

/** Whether a refusal may refuse more than it names. */
export function isCut(reason: string): boolean {
  return reason.endsWith(CUT);
}

export class RefusedResources {
  readonly #refusals = new Map<string, XdsRefusal>();

  get size(): number {
    return this.#refusals.size;
  }

  /** Those that are refused at the version of the view. */
  standing(view: XdsView): readonly XdsRefusal[] {
    if (this.#refusals.size === 0) return NO_REFUSALS;
    return [...this.#refusals.values()].filter(({ type, name, version }) => view.get(type, name)?.version === version);
  }

  has(type: XdsType, name: string, version: string): boolean {
    return this.#refusals.get(keyOf(type, name))?.version === version;
  }

  /** Replaces the answers about earlier versions by this one. @returns the resources that it refuses now; null if none */
  answered({ type, resources, removed }: XdsResponse, reason: string | null): readonly XdsRefusal[] | null {
    if (this.#refusals.size > 0) {
      for (const { name } of resources) this.#refusals.delete(keyOf(type, name));
      for (const name of removed) this.#refusals.delete(keyOf(type, name));
    }
    if (reason === null) return null;
    const named = namedIn(reason, resources);
    const refused = (named.length > 0 ? named : resources).map(({ name, version }) => ({ type, name, version, reason }));
    for (const refusal of refused) this.#refusals.set(keyOf(type, refusal.name), refusal);
    return refused;
  }
}

function keyOf(type: XdsType, name: string): string {
  return JSON.stringify([type, name]);
}

/** The resources that a refusal names. A name that occurs within longer ones alone does not count: `port_80` within `port_8080`. */
function namedIn(reason: string, resources: readonly XdsResource[]): XdsResource[] {
  let rest = isCut(reason) ? withoutLastWord(reason.slice(0, -CUT.length)) : reason;
  const candidates = resources.filter(({ name }) => rest.includes(name));
  const found = new Set<XdsResource>();
  for (const candidate of candidates.toSorted((a, b) => b.name.length - a.name.length)) {
    if (!rest.includes(candidate.name)) continue;
    found.add(candidate);
    rest = rest.replaceAll(candidate.name, '\0');
  }
  return candidates.filter((candidate) => found.has(candidate));
}

/** The last word of a cut text may be the beginning of a longer name. */
function withoutLastWord(text: string): string {
  return text.slice(0, Math.max(text.lastIndexOf(' '), text.lastIndexOf('\n')) + 1);
}
