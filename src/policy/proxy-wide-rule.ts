// Policies about a whole proxy (MeshTrace, MeshMetric, MeshProxyPatch, MeshPassthrough): one conf, merged (policies 3.3, 8).
import type { JsonObject } from '../resource/types.ts';
import { isGuest } from './guest-policy.ts';
import { mergeConfs } from './merge-conf.ts';
import type { Policy } from './parse-policy.ts';
import type { Contribution } from './resource-rule.ts';
import { ruleOrder } from './precedence.ts';

export type ProxyWideRule = {
  readonly conf: JsonObject;
  /** Weakest first. */
  readonly contributions: readonly Contribution[];
};

/** The merged `spec.default` of the matched policies; null when none has one. */
export function proxyWideRule(policies: Iterable<Policy>, zone: string): ProxyWideRule | null {
  const contributions = [...policies]
    .flatMap((policy) => (policy.conf === null || isGuest(policy, zone) ? [] : [{ policy, index: 0, conf: policy.conf }]))
    .sort(ruleOrder(zone));
  if (contributions.length === 0) return null;
  return { conf: mergeConfs(contributions.map(({ conf }) => conf)), contributions };
}
