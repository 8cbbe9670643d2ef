// The limits of the port for zones where the configuration names no others. Operators read them in the reference.
import { expect, it } from 'vitest';
import { DEFAULT_CONNECTION_LIMITS } from '../../grpc/connections.ts';
import { DEFAULT_QUOTAS } from '../admission/quotas.ts';
import { NO_HEALTH_POLICY } from './stale-streams.ts';

it('the limits of connections, the quotas of a zone and the health policy have their documented defaults', () => {
  expect(DEFAULT_CONNECTION_LIMITS).toEqual({ perAddress: 1_000, total: 10_000, streams: 100, idleTimeout: 10_000 });
  expect(DEFAULT_QUOTAS).toEqual({
    streams: 8,
    rows: 100_000,
    resourceBytes: 2_097_152,
    fullStates: 3,
    fullStateInterval: 10_000,
  });
  expect(NO_HEALTH_POLICY).toEqual({ pollInterval: 0, timeout: 0, closeStaleConn: false });
});
