// The proxies and values that unwritten documents would change. It works in steps, because a mesh may be large.
// Invariant: both states are copies, so writes of others meanwhile are no part of the difference.
import type { Answer } from '../answers/answers.ts';
import { compareText } from '../base/compare-text.ts';
import type { Steps } from '../base/steps.ts';
import { metaOf } from '../policy/inspect-view.ts';
import type { MeshIndex } from '../policy/mesh-index.ts';
import { outboundsOf } from '../policy/proxy-outbounds.ts';
import { parseSteps } from '../policy/parse-steps.ts';
import { policyReach } from '../policy/policy-reach.ts';
import { ValueComparison, type ValueChange, type ValueInForce } from '../policy/value-changes.ts';
import { findType } from '../resource/type-registry.ts';
import type { Resource } from '../resource/types.ts';

type Preview = Answer<'Preview'>;

/** The limit of proxies whose values are compared. */
export const MAX_COMPARED = 100;
/** The limit of outbounds of all compared proxies. */
const MAX_OUTBOUNDS = 20_000;
/** The limit of changes that are listed of one proxy, and of all: one value may change on thousands of routes of each proxy. */
const MAX_LISTED = 100;
const MAX_LISTED_OF_ALL = 1_000;

/** One mesh without the documents, and with them. */
type MeshStates = { readonly before: MeshIndex; readonly after: MeshIndex };

/**
 * The rows are all of one mesh.
 * @property rows the rows as they would be stored
 * @property gone the rows that would be deleted, as they are
 */
export type MeshEdits = { readonly rows: readonly Resource[]; readonly gone: readonly Resource[] };

export function* statesOf(index: MeshIndex, { rows, gone }: MeshEdits): Steps<MeshStates> {
  const before = index.emptyCopy();
  const after = index.emptyCopy();
  for (const row of index.allResources()) {
    before.put(row);
    after.put(row);
    yield;
  }
  for (const row of rows) {
    yield* parseSteps(row);
    after.put(row);
    yield;
  }
  for (const row of gone) after.remove(row);
  return { before, after };
}

/**
 * The proxies of which a value in force changes. Of many candidates the first by name are compared: `compared` says how many.
 */
export function* changedProxies({ before, after }: MeshStates, { rows, gone }: MeshEdits): Steps<Preview['proxies']> {
  const candidates = [...(yield* candidatesOf({ before, after }, [...rows, ...gone]))].sort(compareText);
  const comparison = new ValueComparison(before, after, MAX_LISTED);
  const items: Preview['proxies']['items'][number][] = [];
  let compared = 0;
  let outbounds = 0;
  let room = MAX_LISTED_OF_ALL;
  for (const name of candidates) {
    const stays = after.proxy(name);
    const proxy = stays ?? before.proxy(name);
    if (proxy === undefined) continue;
    outbounds += outboundsOf(stays === undefined ? before : after, proxy).length;
    yield;
    if (compared === MAX_COMPARED || (compared > 0 && outbounds > MAX_OUTBOUNDS)) break;
    compared += 1;
    const { total, listed } = yield* comparison.of(name);
    if (total === 0 && stays !== undefined) continue;
    const shown = listed.slice(0, room);
    room -= shown.length;
    items.push({
      dataplane: metaOf(proxy.resource),
      kri: proxy.kri,
      zone: proxy.zone,
      isNew: before.proxy(name) === undefined,
      ...(stays === undefined && { isGone: true }),
      total,
      changes: shown.map(changeView),
    });
  }
  return { candidates: candidates.length, compared, changed: items.length, items };
}

/** Stored names of the proxies that the documents may touch. */
function* candidatesOf({ before, after }: MeshStates, rows: readonly Resource[]): Steps<Set<string>> {
  const found = new Set<string>();
  for (const row of rows) {
    if (row.type === 'Dataplane') found.add(row.name);
    // A service is an outbound of each proxy that sees it, and a mesh decides for all.
    else if ((findType(row.type)?.policy ?? null) === null)
      for (const index of [before, after]) for (const { resource } of index.proxies()) found.add(resource.name);
    else
      for (const index of [before, after]) {
        const policy = index.policyOf(row);
        if (policy === undefined) continue;
        const { touched } = yield* policyReach(index, policy);
        for (const { proxy } of touched) found.add(proxy.resource.name);
      }
    yield;
  }
  return found;
}

function changeView({ before, after, ...rest }: ValueChange): Preview['proxies']['items'][number]['changes'][number] {
  return { ...rest, before: before && valueView(before), after: after && valueView(after) };
}

function valueView({ value, from }: ValueInForce): NonNullable<Preview['proxies']['items'][number]['changes'][number]['before']> {
  return { value, origins: from.map(({ policy, index }) => ({ kri: policy.kri, name: policy.displayName, ruleIndex: index })) };
}
