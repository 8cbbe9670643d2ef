// Whether the MeshTrafficPermissions of a server deny a client, by its SPIFFE ID. Pure. A rule about a server name is left out: a client may
// ask by several.
import { typeRulesOf } from '../policy/build-rules.ts';
import type { DataplaneProxy } from '../policy/dataplane-proxy.ts';
import type { MeshIndex } from '../policy/mesh-index.ts';
import type { InboundMatch } from '../schema/inbound-match.ts';
import { PERMITTING_LISTS } from '../policies/mesh-traffic-permission/spec.ts';
import type { Json } from '../resource/types.ts';
import { clientsIn, type PermissionRule } from '../policies/mesh-traffic-permission/clients.ts';
import { certifiedIdentity } from '../xds/proxy-tls.ts';
import { usableRules } from '../xds/usable-policies.ts';

/**
 * The reason why a server denies a client; null where it may permit it, and for a server without an identity, which knows no
 * client.
 * @param target name or number of the inbound
 */
export function whyDenied(index: MeshIndex, server: DataplaneProxy, target: Json, client: string): string | null {
  if (certifiedIdentity(index, server) === null) return null;
  const found = typeRulesOf(index, server, 'MeshTrafficPermission')?.inboundRules.find(
    ({ section: { kind, name, port } }) => kind === 'Inbound' && (name === target || port === target),
  );
  const rules = usableRules('MeshTrafficPermission', found?.rules ?? [], () => undefined);
  const denying = rules.find((rule) => clientsIn(rule, 'deny').some((one) => fits(rule, one, client, false)));
  if (denying !== undefined) return `its MeshTrafficPermission ${denying.policy.displayName} denies ${client}`;
  const isPermitted = rules.some((rule) =>
    PERMITTING_LISTS.some((key) => clientsIn(rule, key).some((one) => fits(rule, one, client, true))),
  );
  return isPermitted ? null : `no MeshTrafficPermission of it allows ${client}`;
}

/** @param byName what counts for a match with a server name */
function fits({ match }: PermissionRule, client: InboundMatch, id: string, byName: boolean): boolean {
  return [match, client].every((one) => {
    if (one === null) return true;
    const { sni, spiffeID } = one;
    if (sni !== undefined && !byName) return false;
    if (spiffeID === undefined) return sni !== undefined;
    return spiffeID.type === 'Prefix' ? id.startsWith(spiffeID.value) : id === spiffeID.value;
  });
}
