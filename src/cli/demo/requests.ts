// Requests through the Envoys of the shop, which show the policies in force.
import { MeridianError } from '../../base/errors.ts';
import { typeOf } from '../../resource/type-registry.ts';
import { ApiClient } from '../client/api-client.ts';
import { SLOW_PATH } from './applications.ts';
import { AT_ONCE, Caller, NOTHING, until } from './caller.ts';
import type { ShopZone } from './shop-proxies.ts';
import { STEP_LIMIT, STEP_MS } from './step-limit.ts';

const MESH = 'shop';
const REQUESTS = 1_000;
/** The shares of the route cart-canary. */
const SHARES: Readonly<Record<string, number>> = { v1: 0.8, v2: 0.2 };
const CARTS = 40;
const ROUNDS = 5;

export type ZoneTraffic = {
  readonly zone: string;
  readonly requests: number;
  /** The answers of 1,000 requests, by version. */
  readonly canary: ReadonlyMap<string, number>;
  /** The number of carts that always came to one version, by version. */
  readonly sticky: ReadonlyMap<string, number>;
  /** The median of the times from the PUT on global to the first request that was cut, in milliseconds. */
  readonly timeoutMs: number;
  /** The number of connections that were closed meanwhile. */
  readonly closed: number;
};

/**
 * Sends requests in each zone.
 * @param global URL of its REST API
 * @throws MeridianError `unavailable` for requests that do not do what the policies of the shop say
 */
export async function measureTraffic(zones: readonly ShopZone[], global: string, signal: AbortSignal): Promise<ZoneTraffic[]> {
  const callers = zones.map((shop) => ({ shop, caller: new Caller(shop.carts) }));
  try {
    for (const { shop, caller } of callers) await expectTogether(shop, caller, signal);
    const counted = await Promise.all(
      callers.map(async ({ caller }) => ({ canary: await countCanary(caller), sticky: await countSticky(caller) })),
    );
    const times = await measureTimeout(
      callers.map(({ caller }) => caller),
      new ApiClient(global),
      signal,
    );
    return callers.map(({ shop, caller }, at) => {
      const { canary = new Map<string, number>(), sticky = new Map<string, number>() } = counted[at] ?? {};
      if (caller.closed > 0) throw unexpected(shop.zone, `${String(caller.closed)} connections were closed`);
      return { zone: shop.zone, requests: caller.requests, canary, sticky, timeoutMs: times[at] ?? NaN, closed: caller.closed };
    });
  } finally {
    for (const { caller } of callers) caller.end();
  }
}

/** Waits until catalog and carts answer, both versions. */
async function expectTogether({ zone, anyCatalog }: ShopZone, caller: Caller, signal: AbortSignal): Promise<void> {
  const seen = new Set<string>();
  await until(
    async () => {
      const { status, body } = await caller.get('/').catch(() => NOTHING);
      if (status === 200) seen.add(body);
      return Object.keys(SHARES).every((version) => seen.has(version));
    },
    `both carts of ${zone} to answer`,
    signal,
  );
  const through = new Caller(anyCatalog);
  try {
    await until(
      async () => /^catalog, with cart v/.test((await through.get('/').catch(() => NOTHING)).body),
      `the catalog of ${zone}`,
      signal,
    );
  } finally {
    through.end();
  }
}

async function countCanary(caller: Caller): Promise<ReadonlyMap<string, number>> {
  const counts = countBy(await caller.many(REQUESTS, () => ({ path: '/' })));
  for (const [version, share] of Object.entries(SHARES)) {
    const count = counts.get(version) ?? 0;
    // Six standard deviations: chance alone does not come there.
    if (Math.abs(count - REQUESTS * share) > 6 * Math.sqrt(REQUESTS * share * (1 - share)))
      throw unexpected('the canary', `${String(count)} of ${String(REQUESTS)} requests came to ${version}`);
  }
  return counts;
}

/** Sends three requests of each cart: they come to one place. */
async function countSticky(caller: Caller): Promise<ReadonlyMap<string, number>> {
  const asked = await caller.many(CARTS * 3, (at) => ({ path: '/session', cart: `cart-${String(at % CARTS)}` }));
  const places = Map.groupBy(asked.entries(), ([at]) => at % CARTS);
  const moved = [...places.values()].filter((answers) => new Set(answers.map(([, body]) => body)).size > 1);
  if (moved.length > 0) throw unexpected('sessions', `${String(moved.length)} of ${String(CARTS)} carts moved`);
  const counts = countBy(asked.slice(0, CARTS));
  if (counts.size < 2) throw unexpected('sessions', 'all carts came to one place');
  return counts;
}

/** Cuts the time of requests on global again and again. @returns of each caller the median of the times until a request was cut */
async function measureTimeout(callers: readonly Caller[], global: ApiClient, signal: AbortSignal): Promise<number[]> {
  const info = typeOf('MeshTimeout');
  const name = 'demo-cut';
  const put = async (requestTimeout: string): Promise<void> => {
    const to = [{ targetRef: { kind: 'MeshService', labels: CART_LABELS }, default: { http: { requestTimeout } } }];
    const spec = { targetRef: { kind: 'Dataplane', labels: { app: 'catalog' } }, to };
    await global.put(info, MESH, name, { type: 'MeshTimeout', mesh: MESH, name, spec });
  };
  const times = callers.map((): number[] => []);
  for (let round = 0; round < ROUNDS; round += 1) {
    await put('10s');
    await Promise.all(callers.map((caller) => firstWith(caller, 200, signal)));
    const began = performance.now();
    const [felt] = await Promise.all([Promise.all(callers.map((caller) => firstWith(caller, 504, signal))), put('10ms')]);
    for (const [at, when] of felt.entries()) times[at]?.push(when - began);
  }
  await global.delete(info, MESH, name);
  return times.map((all) => all.sort((a, b) => a - b)[Math.floor(ROUNDS / 2)] ?? NaN);
}

const CART_LABELS = { 'kuma.io/display-name': 'cart' };

/** The time at which the first slow request with such an answer was sent. Several are under way at any time. */
async function firstWith(caller: Caller, wanted: number, signal: AbortSignal): Promise<number> {
  const deadline = Date.now() + STEP_MS;
  let first = Infinity;
  const work = async (): Promise<void> => {
    while (first === Infinity) {
      if (Date.now() > deadline)
        throw new MeridianError('unavailable', `no request was answered ${String(wanted)} within ${STEP_LIMIT}`);
      signal.throwIfAborted();
      const began = performance.now();
      const { status } = await caller.get(SLOW_PATH);
      if (status === wanted) first = Math.min(first, began);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return first;
}

function countBy(bodies: readonly string[]): Map<string, number> {
  const groups = Map.groupBy(bodies, (body) => body);
  return new Map([...groups].map(([body, all]): [string, number] => [body, all.length]).sort(([a], [b]) => (a < b ? -1 : 1)));
}

function unexpected(where: string, what: string): MeridianError {
  return new MeridianError('unavailable', `requests do not do what the policies say: ${where}: ${what}`);
}
