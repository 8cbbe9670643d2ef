// Services that take plain text although their mesh has an identity: the sum for an alert. `meridian inspect meshes` has the reasons.
import { Gauge, type Registry } from 'prom-client';
import type { MeshIndexes } from '../mesh-index/mesh-indexes.ts';
import type { MeshIndex } from '../policy/mesh-index.ts';
import { homeZoneOf } from '../resource/ownership.ts';
import { takesPlaintext } from '../resource/plaintext-service.ts';

/** Registers the gauge for meshes with connected proxies, at the moment of the scrape. Call it once per registry. */
export function createPlaintextMetric(registry: Registry, indexes: Pick<MeshIndexes, 'known'>, zone: string): void {
  new Gauge({
    name: 'meridian_mesh_plaintext_services',
    help: 'Available services of this zone that take plain text in a mesh with a MeshIdentity',
    labelNames: ['mesh'],
    registers: [registry],
    collect() {
      this.reset();
      for (const index of indexes.known()) this.set({ mesh: index.mesh }, plaintextServices(index, zone));
    },
  });
}

/** The number of services whose servers may not demand TLS yet (decision 52). */
function plaintextServices(index: MeshIndex, zone: string): number {
  if (index.count('MeshIdentity') === 0) return 0;
  let count = 0;
  for (const service of index.resources('MeshService'))
    if (homeZoneOf(service, zone) === zone && takesPlaintext(service)) count += 1;
  return count;
}
