// Policies that a proxy has and that change nothing on it: they need an identity, or transparent proxying (xds 3.3, 6). They are
// reported, because a permission that is not enforced looks like one that is.
import type { ProxyRules } from '../policy/build-rules.ts';
import { isObject, objectOf } from '../resource/read-json.ts';
import type { Report } from './usable-policies.ts';

/** Reports them, each policy once. */
export function reportWithoutEffect({ proxy, types }: ProxyRules, report: Report): void {
  const isTransparent = isObject(objectOf(proxy.resource.spec['networking'])['transparentProxying']);
  for (const { type, inboundRules, proxyRule } of types) {
    const rules = inboundRules.flatMap((section) => [...section.rules, ...section.fromRules]);
    if (type === 'MeshTrafficPermission')
      for (const { policy } of rules)
        report({
          policy: policy.kri,
          field: policy.rules.length > 0 ? 'spec.rules' : 'spec.from',
          reason: 'is not enforced: the proxy has no identity, and without TLS nothing says who a client is',
        });
    if (type === 'MeshTLS')
      for (const { policy, index, conf } of rules)
        if (conf['mode'] === 'Strict')
          report({
            policy: policy.kri,
            field: `spec.${policy.rules.length > 0 ? 'rules' : 'from'}[${String(index)}].default.mode`,
            reason: 'is not enforced: the proxy has no identity, and takes plain text',
          });
    if (type === 'MeshPassthrough' && !isTransparent)
      for (const { policy } of proxyRule?.contributions ?? [])
        report({ policy: policy.kri, field: 'spec.default', reason: 'has no effect: the proxy has no transparent proxying' });
  }
}
