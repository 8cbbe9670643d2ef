// Reads a policy with long lists in steps, before it enters the index: what is read of each item is remembered, and the whole policy is then
// parsed in no time.
import { listChunks } from '../base/list-chunks.ts';
import type { Steps } from '../base/steps.ts';
import { findType } from '../resource/type-registry.ts';
import type { Resource } from '../resource/types.ts';
import { parsePolicy } from './parse-policy.ts';
import { matchesHash, writtenRules } from './route-rules.ts';

/** Nothing for a row that is no policy, or has no long list. */
export function* parseSteps(row: Resource): Steps<void> {
  if ((findType(row.type)?.policy ?? null) === null) return;
  for (const spec of listChunks(row.spec)) {
    const { to } = parsePolicy({ ...row, spec }, 0);
    if (row.type === 'MeshHTTPRoute')
      for (const { conf } of to) for (const { matches } of writtenRules(conf)) matchesHash(matches);
    yield;
  }
}
