// The clients in the conf of a MeshTrafficPermission (policies 6).
import type { InboundMatch } from '../../schema/inbound-match.ts';
import type { ClientList } from './spec.ts';
import { EVERYONE, isEmptyMatch } from '../../envoy/client-match.ts';
import type { ConfRule } from '../confs.ts';

export type PermissionRule = ConfRule<'MeshTrafficPermission'>;

/** The matches under a key of a rule. An empty match denies every client, and permits none. */
export function clientsIn({ conf }: Pick<PermissionRule, 'conf'>, key: ClientList): readonly InboundMatch[] {
  const clients = conf[key] ?? [];
  return key === 'deny' ? clients.map((client) => (isEmptyMatch(client) ? EVERYONE : client)) : clients;
}
