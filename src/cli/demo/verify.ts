// Polls every control plane until each applied resource is exactly where it must be.
import { setTimeout as delay } from 'node:timers/promises';
import { MeridianError } from '../../base/errors.ts';
import { label } from '../../resource/labels.ts';
import { ApiClient, type Item } from '../client/api-client.ts';
import { placements, type AppliedResource, type Holding } from './placement.ts';
import { STEP_LIMIT, STEP_MS } from './step-limit.ts';

export type Verified = { readonly resource: AppliedResource; readonly holdings: readonly (Holding & { readonly item: Item })[] };

/** @param addresses place → URL of its REST API. Rejects with the first difference at the time limit */
export async function verifyInStep(
  addresses: ReadonlyMap<string, string>,
  resources: readonly AppliedResource[],
  signal: AbortSignal,
): Promise<Verified[]> {
  const deadline = Date.now() + STEP_MS;
  const zones = [...addresses.keys()].filter((place) => place !== 'global');
  const verified: Verified[] = [];
  for (const resource of resources) {
    for (;;) {
      const found = await look(addresses, resource, placements(resource, zones));
      if (typeof found !== 'string') {
        verified.push({ resource, holdings: found });
        break;
      }
      if (Date.now() > deadline) throw new MeridianError('unavailable', `not in step within ${STEP_LIMIT}: ${found}`);
      await delay(20, undefined, { signal });
    }
  }
  return verified;
}

/** The resources of each place, or the first difference. */
async function look(
  addresses: ReadonlyMap<string, string>,
  resource: AppliedResource,
  expected: readonly Holding[],
): Promise<Verified['holdings'] | string> {
  const { info, mesh, name } = resource;
  const holdings: (Holding & { item: Item })[] = [];
  for (const [place, address] of addresses) {
    const client = new ApiClient(address);
    const wanted = expected.find((holding) => holding.place === place);
    if (wanted === undefined) {
      const strays = (await client.list(info, undefined)).filter((item) => isCopyOf(item, resource));
      if (strays.length > 0) return `${place} holds ${info.name} ${name}, which must not be there`;
      continue;
    }
    const item = await client.get(info, mesh, wanted.storedName);
    if (item === undefined) return `${place} lacks ${info.name} ${wanted.storedName}`;
    const wrong = Object.entries(wanted.labels).find(([key, value]) => !isLabelled(item, key, value, info.kds.skipHash));
    if (wrong !== undefined) return `${place} holds ${info.name} ${wanted.storedName} without label ${wrong[0]}=${wrong[1]}`;
    holdings.push({ ...wanted, item });
  }
  return holdings;
}

/** `address:port` of the ingress through which other zones reach a service. */
export function ingressOf({ spec }: Item): string | undefined {
  const { zoneIngress } = (spec ?? {}) as { zoneIngress?: { address: string; port: number } };
  return zoneIngress === undefined ? undefined : `${zoneIngress.address}:${String(zoneIngress.port)}`;
}

/** Types with `skipHash` are sent without a display name (kds-wire 5.3). */
function isLabelled(item: Item, key: string, value: string, skipHash: boolean): boolean {
  const given = item.labels?.[key];
  return given === value || (skipHash && key === label.displayName && given === undefined);
}

function isCopyOf(item: Item, { mesh, name, at }: AppliedResource): boolean {
  const zone = item.labels?.[label.zone];
  return (
    (item.mesh ?? '') === mesh &&
    item.labels?.[label.displayName] === name &&
    (at === 'global' ? zone === undefined : zone === at)
  );
}
