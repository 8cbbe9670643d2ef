// The answer of `_reach`: the proxies that a policy configures, or why there are none.
import type { Answer } from '../answers/answers.ts';
import { metaOf } from '../policy/inspect-view.ts';
import type { PolicyReach, TouchedProxy } from '../policy/policy-reach.ts';
import type { JsonObject } from '../resource/types.ts';

/** `{policy, kri, role, warnings[], untouched[]{reason, proxies}}`: everything except the configured proxies. */
export function reachHead({ policy, untouched, warnings }: PolicyReach): Omit<Answer<'Reach'>, 'touched' | 'total' | 'next'> {
  return {
    policy: metaOf(policy.resource),
    kri: policy.kri,
    role: policy.role,
    warnings: [...warnings],
    untouched: untouched.map(({ reason, proxies }) => ({ reason, proxies })),
  };
}

/** `{kri, dataplane, sections[], destinations[]}`; sections by name, else port, as `sectionName` selects them. */
export function touchedView({ proxy, sections, destinations }: TouchedProxy): Answer<'Reach'>['touched'][number] {
  return {
    kri: proxy.kri,
    dataplane: metaOf(proxy.resource),
    sections: sections.map(({ section }) => section),
    destinations: [...destinations],
  };
}

/** An item of the deprecated `{policies}/{name}/dataplanes`, which kumactl still calls. Kuma returns no more about the attachment. */
export function attachedView({ proxy }: TouchedProxy): JsonObject {
  const { mesh, name } = proxy.resource;
  return { kind: 'SidecarDataplane', dataplane: { mesh, name }, attachments: [{ type: 'dataplane' }] };
}
