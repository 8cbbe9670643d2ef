// The clients in the conf of a MeshTrafficPermission (policies 6).
import type { InboundRule } from '../policy/inbound-rules.ts';
import { objectsOf } from '../resource/read-json.ts';
import type { JsonObject } from '../resource/types.ts';
import { EVERYONE, isEmptyMatch } from './client-match.ts';

/** The matches under a key of a rule. An empty match denies every client, and permits none. */
export function clientsIn({ conf }: Pick<InboundRule, 'conf'>, key: string): readonly JsonObject[] {
  const clients = objectsOf(conf[key]);
  return key === 'deny' ? clients.map((client) => (isEmptyMatch(client) ? EVERYONE : client)) : clients;
}
