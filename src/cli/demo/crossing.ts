// Requests from zone to zone through the Envoys of the shop: the answering zone, the identity of the caller, the latency, and the failover.
import { MeridianError } from '../../base/errors.ts';
import { objectOf, objectsOf } from '../../resource/read-json.ts';
import type { JsonObject } from '../../resource/types.ts';
import { typeOf } from '../../resource/type-registry.ts';
import { ApiClient } from '../client/api-client.ts';
import { WHO_PATH, type WhoAnswer } from './applications.ts';
import { Caller, NOTHING, until } from './caller.ts';
import type { ShopZone } from './shop-proxies.ts';
import { STEP_LIMIT, STEP_MS } from './step-limit.ts';

const MESH = 'shop';
const CATALOG = 'catalog-1';
const REQUESTS = 200;

export type Crossing = {
  readonly from: string;
  readonly to: string;
  /** The SPIFFE ID of the caller, in the request that the catalog of the other zone received. */
  readonly caller: string;
  /** Median milliseconds of a request to the catalog of the own zone, and of one to that of the other. */
  readonly ownMs: number;
  readonly otherMs: number;
};

export type Failover = {
  readonly zone: string;
  readonly by: string;
  /** Milliseconds from the write to the first answer of the other zone, and of the own zone again. */
  readonly awayMs: number;
  readonly backMs: number;
  readonly requests: number;
  readonly failed: number;
};

/** A cart of each zone asks the catalog of the other. @throws MeridianError `unavailable` for an answer of another catalog */
export async function measureCrossings(zones: readonly ShopZone[], signal: AbortSignal): Promise<Crossing[]> {
  const crossings: Crossing[] = [];
  for (const { zone: from, anyCatalog, otherCatalog } of zones) {
    const to = zones.find(({ zone }) => zone !== from)?.zone ?? '';
    const [own, other] = [new Caller(anyCatalog), new Caller(otherCatalog)];
    try {
      await until(async () => (await who(own))?.zone === from, `the catalog of ${from}`, signal);
      await until(async () => (await who(other))?.zone === to, `an answer of ${to} in ${from}`, signal);
      const caller = (await who(other))?.caller ?? null;
      if (caller === null) throw new MeridianError('unavailable', `the catalog of ${to} was not told who called it`);
      const [ownMs = NaN, otherMs = NaN] = await mediansMs([own, other]);
      crossings.push({ from, to, caller, ownMs, otherMs });
    } finally {
      own.end();
      other.end();
    }
  }
  return crossings;
}

/** The catalog of a zone is taken out while a cart of that zone asks, and comes back. @param api URL of the control plane of the zone */
export async function measureFailover(shop: ShopZone, by: string, api: string, signal: AbortSignal): Promise<Failover> {
  const { zone, anyCatalog, catalogDataplane } = shop;
  const client = new ApiClient(api);
  const caller = new Caller(anyCatalog);
  let failed = 0;
  const answered = async (wanted: string, write: () => Promise<void>): Promise<number> => {
    const began = performance.now();
    const written = write();
    for (;;) {
      const { status, body } = await caller.get(WHO_PATH).catch(() => NOTHING);
      if (status !== 200) failed += 1;
      else if ((JSON.parse(body) as WhoAnswer).zone === wanted) break;
      signal.throwIfAborted();
      if (performance.now() - began > STEP_MS)
        throw new MeridianError('unavailable', `the catalog of ${wanted} did not take over within ${STEP_LIMIT}`);
    }
    const took = performance.now() - began;
    await written;
    return took;
  };
  const put = async (state: string): Promise<void> => {
    await client.put(typeOf('Dataplane'), MESH, CATALOG, withState(catalogDataplane, state));
  };
  try {
    await answered(zone, () => Promise.resolve());
    const awayMs = await answered(by, () => put('NotReady'));
    const backMs = await answered(zone, () => put('Ready'));
    return { zone, by, awayMs, backMs, requests: caller.requests, failed };
  } finally {
    caller.end();
  }
}

function withState(dataplane: JsonObject, state: string): JsonObject {
  const networking = objectOf(dataplane['networking']);
  const inbound = objectsOf(networking['inbound']).map((one) => ({ ...one, state }));
  return { ...dataplane, networking: { ...networking, inbound } };
}

async function who(caller: Caller): Promise<WhoAnswer | null> {
  const { status, body } = await caller.get(WHO_PATH).catch(() => NOTHING);
  return status === 200 ? (JSON.parse(body) as WhoAnswer) : null;
}

/** Asks the callers in turns, so that other load of the machine affects all of them alike. */
async function mediansMs(callers: readonly Caller[]): Promise<number[]> {
  const times = callers.map((): number[] => []);
  for (let round = 0; round < REQUESTS; round += 1)
    for (const [at, caller] of callers.entries()) {
      const began = performance.now();
      const { status } = await caller.get(WHO_PATH);
      if (status !== 200) throw new MeridianError('unavailable', `a request to a catalog was answered ${String(status)}`);
      times[at]?.push(performance.now() - began);
    }
  return times.map((all) => all.sort((a, b) => a - b)[Math.floor(REQUESTS / 2)] ?? NaN);
}
