// A zone control plane that is gone for a while, with a real Envoy. Its embedded store is closed and opened again.
import { expect, it, onTestFinished } from 'vitest';
import { EnvoyMesh } from './envoy-mesh.ts';
import { ZoneProcess } from './zone-process.ts';

/** What Envoy counts when it is sent something; it looks up the address of its control plane by itself. */
const TAKEN =
  /^(cluster_manager\.cluster_(added|modified|removed)|listener_manager\.listener_(create_success|modified)|http\..*\.rds\..*\.config_reload|cluster\.kri_.*\.update_success)$/;
/** Bytes of messages without resources, for all types together; the first configuration is many times larger. */
const EMPTY_BYTES = 2_000;

it('serves traffic without its control plane, and is sent nothing again when that is back', async () => {
  const zone = await ZoneProcess.start('embedded');
  onTestFinished(() => zone.stop());
  const mesh = await EnvoyMesh.open('restarted', zone);
  const names = Array.from({ length: 10 }, (_, at) => `service-${String(at)}`);
  for (const name of names) await mesh.service(name, { app: 'cart' });
  await mesh.endpoint('cart-1', { app: 'cart' });
  const { list, portOf } = await mesh.outbounds(names);
  const client = await mesh.proxy('client', { outbounds: list });
  onTestFinished(() => mesh.close());
  const port = portOf('service-0');
  const received = (): Promise<number> => client.sum(/^cluster\.system_ads\.upstream_cx_rx_bytes_total$/);
  const connected = (): Promise<number> => client.sum(/^control_plane\.connected_state$/);
  const statuses = async (): Promise<string[]> => [...new Set((await mesh.many(50, port)).map(({ status }) => String(status)))];
  await expect.poll(statuses).toEqual(['200']);
  const [first, taken] = [await received(), await client.sum(TAKEN)];
  expect(first).toBeGreaterThan(5 * EMPTY_BYTES);

  await zone.stop();
  await expect.poll(connected).toBe(0);
  expect(await statuses()).toEqual(['200']);

  await zone.restart();
  await expect.poll(connected).toBe(1);
  // A change after the restart comes last: what was sent before it has arrived with it.
  await mesh.settle();
  expect((await received()) - first).toBeLessThan(EMPTY_BYTES);
  // The route of that change.
  expect(await client.sum(TAKEN)).toBe(taken + 1);
  expect(await statuses()).toEqual(['200']);
});
