// The row that a connected proxy of a Dataplane has, written as a control plane would.
import type { ControlPlane } from './control-plane.ts';

/** It is replaced where it is there. */
export async function connectedInsight(zone: ControlPlane, mesh: string, name: string): Promise<void> {
  const spec = JSON.stringify({ subscriptions: [{ id: name, connectTime: '2026-01-01T00:00:00Z' }] });
  await zone.psql.query(
    `insert into resources (type, mesh, name, version, spec) values ('DataplaneInsight', $1, $2, 0, $3)
     on conflict (type, mesh, name) do update set spec = excluded.spec`,
    [mesh, name, spec],
  );
}
