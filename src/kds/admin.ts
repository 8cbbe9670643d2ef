// The zone end of the admin streams: global asks for a proxy's configuration, statistics or clusters (kds-wire 2.7).
import type { Duplex } from 'node:stream';
import { decodeAdminRequest, encodeAdminResponse } from '../wire/kds-messages.ts';
import { messagesOf } from './session.ts';

/** Answers every request at once and once only: no proxy is connected to this control plane. */
export async function answerAdminRequests(call: Duplex): Promise<void> {
  for await (const bytes of messagesOf(call)) {
    const { requestId, resourceName } = decodeAdminRequest(bytes);
    call.write(
      encodeAdminResponse({
        requestId,
        error: `no proxy of Dataplane ${JSON.stringify(resourceName)} is connected to this zone`,
      }),
    );
  }
}
