// The zone end of KDS with the store of a test, as the zone `east`.
import { systemClock } from '../../src/base/clock.ts';
import { createLogger } from '../../src/base/log.ts';
import { Changelog } from '../../src/kds/log/changelog.ts';
import { runKdsClient, type KdsClientOptions } from '../../src/kds/client/client.ts';
import { zoneSendRules } from '../../src/kds/protocol/rules.ts';
import { validateResource } from '../../src/resource/validate-spec.ts';
import type { TinyStore } from '../support/tiny-store.ts';

const log = createLogger('silent');

/**
 * Keeps the zone connected to the global at a port until the signal.
 * @returns a promise that settles when everything has ended
 */
export function connectZone(
  store: TinyStore,
  port: number,
  signal: AbortSignal,
  options: Partial<KdsClientOptions> = {},
): Promise<unknown> {
  const changelog = new Changelog(store, zoneSendRules({ zone: 'east' }), log);
  const client = runKdsClient(
    {
      ...{
        zone: 'east',
        storeId: 'store-of-east',
        address: `127.0.0.1:${String(port)}`,
        tls: null,
        maxMessageBytes: 10_485_760,
        changelog,
        clock: systemClock,
        log,
      },
      node: { version: '0', instanceId: 'zone-1', config: '{}' },
      store,
      admission: async () => null,
      validate: validateResource,
      observe: () => undefined,
      answerAdmin: () => Promise.reject(new Error('no proxy is connected')),
      ...options,
    },
    signal,
  );
  return Promise.all([changelog.run(signal), client]);
}
