// The statuses that control planes compute, by type: the JSON types of their fields, and nothing else. No person writes a status,
// so no value is checked; unlisted fields may hold any value.
import { z } from 'zod';
import type { IntegerFormat } from '../schema/spec-fields.ts';

/** A whole number of Go's `int`. */
const whole = () => z.int().meta({ format: 'int64' satisfies IntegerFormat });
const text = () => z.string().optional();

const conditions = () => z.array(z.object({ type: text(), status: text(), reason: text(), message: text() })).optional();
const generatorRef = () => z.object({ coreName: text() }).optional();
/** The hostnames that generators gave to a service (policies 9.5). */
const names = {
  addresses: z.array(z.object({ hostname: text(), origin: text(), hostnameGeneratorRef: generatorRef() })).optional(),
  hostnameGenerators: z.array(z.object({ hostnameGeneratorRef: generatorRef(), conditions: conditions() })).optional(),
};
const vip = () => z.object({ ip: text() });
const dataplaneProxies = z
  .object({ connected: whole().optional(), healthy: whole().optional(), total: whole().optional() })
  .optional();
const withConditions = z.object({ conditions: conditions() });

/** The statuses of all types that have one and are synced (policies 2.4, 2.7 to 2.9). */
export const statusSchemas: ReadonlyMap<string, z.ZodObject> = new Map<string, z.ZodObject>([
  [
    'MeshService',
    z.object({
      ...names,
      vips: z.array(vip()).optional(),
      tls: z.object({ status: text(), enforced: z.boolean().optional() }).optional(),
      dataplaneProxies,
    }),
  ],
  ['MeshExternalService', z.object({ ...names, vip: vip().optional() })],
  [
    'MeshMultiZoneService',
    z.object({
      ...names,
      vips: z.array(vip()).optional(),
      meshServices: z.array(z.object({ name: text(), namespace: text(), zone: text(), mesh: text() })).optional(),
      conditions: conditions(),
    }),
  ],
  ['MeshIdentity', withConditions],
  ['MeshTrust', z.object({ origin: z.object({ kri: text() }).optional() })],
  ['MeshOpenTelemetryBackend', withConditions],
  ['MeshAccessLog', withConditions],
  ['MeshTrace', withConditions],
  ['MeshMetric', withConditions],
  ['Workload', z.object({ dataplaneProxies })],
]);
