// A zone with a Kuma global: the resources that it sends, their form, and the size of the messages.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { createLogger } from '../../src/base/log.ts';
import { feature } from '../../src/kds/protocol/features.ts';
import type { SyncEvent } from '../../src/kds/protocol/sync-events.ts';
import { encodeKumaResource } from '../../src/resource/codec.ts';
import { hashName } from '../../src/resource/hash-name.ts';
import { typeOf } from '../../src/resource/type-registry.ts';
import type { JsonObject } from '../../src/resource/types.ts';
import { ZoneInsightWriter } from '../../src/zone-status/zone-insight-writer.ts';
import {
  decodeDeltaRequest,
  decodeDeltaResponse,
  encodeDeltaRequest,
  encodeDeltaResponse,
  encodeResourceEntry,
  type DeltaRequest,
  type DeltaResponse,
} from '../../src/wire/kds-messages.ts';
import { TinyStore } from '../support/tiny-store.ts';
import { connectZone } from './connected-zone.ts';
import { firstRequest } from './first-request.ts';
import { playGlobal, type GlobalManners } from './played-global.ts';
import { resourcesIn } from './played-zone.ts';

const WAIT = { timeout: 90_000, interval: 10 };
const MIB = 1024 * 1024;
const TYPE = 'MeshTimeout';
const KUMA = [feature.hashSuffix];
const byName = { targetRef: { kind: 'Mesh' }, to: [{ targetRef: { kind: 'MeshService', name: 'cart' }, default: {} }] };
const byLabels = {
  targetRef: { kind: 'Mesh' },
  to: [{ targetRef: { kind: 'MeshService', labels: { 'kuma.io/display-name': 'cart' } }, default: {} }],
};
const large = { targetRef: { kind: 'Mesh' }, a: 'x'.repeat(MIB) };
const wireName = (name: string): string => `${hashName({ mesh: 'default', name, zone: 'east' })}.default`;

describe('a zone with a Kuma global', () => {
  let stop: AbortController;
  let store: TinyStore;
  let running: Promise<unknown>;
  let events: SyncEvent[];

  beforeEach(() => {
    stop = new AbortController();
    store = new TinyStore();
    events = [];
  });
  afterEach(async () => {
    stop.abort();
    await running;
  });

  async function put(name: string, spec: JsonObject): Promise<void> {
    await store.write({ op: 'put', key: { type: TYPE, mesh: 'default', name }, labels: { 'kuma.io/origin': 'zone' }, spec });
  }

  async function connectTo(onStream: NonNullable<GlobalManners['onStream']>): Promise<void> {
    const keeper = { mode: 'zone', instanceId: 'zone-1' } as const;
    const log = createLogger('silent');
    const insights = new ZoneInsightWriter({ store, keeper, zone: 'east', log, clock: systemClock });
    const observe = (event: SyncEvent): void => {
      events.push(event);
      insights.observe(event);
    };
    await store.write({ op: 'put', key: { type: 'Zone', mesh: '', name: 'east' }, labels: {}, spec: { enabled: true } });
    const port = await playGlobal({ onStream, maxMessageBytes: 10 * MIB }, stop.signal);
    running = connectZone(store, port, stop.signal, { observe });
  }

  /** Connects to a global that asks for MeshTimeouts and takes them; returns the responses so far. */
  async function askedBy(features: string[]): Promise<DeltaResponse[]> {
    const responses: DeltaResponse[] = [];
    const request = firstRequest(TYPE, { features });
    await connectTo((call, name) => {
      if (name !== 'zoneToGlobalSync') return;
      call.on('data', (bytes: Buffer) => {
        const response = decodeDeltaResponse(bytes);
        responses.push(response);
        call.write(encodeDeltaRequest({ ...request, node: { id: 'east' }, responseNonce: response.nonce }));
      });
      call.write(encodeDeltaRequest(request));
    });
    return responses;
  }

  const problems = async (): Promise<unknown> =>
    (await store.get({ type: 'ZoneInsight', mesh: '', name: 'east' }))?.status['syncProblems'];

  it('sends global resources in a readable form, and lists the unreadable ones on the zone (D26)', async () => {
    await put('cart', byName);
    await put('subset', { targetRef: { kind: 'MeshSubset', tags: { app: 'cart' } } });
    const responses = await askedBy(KUMA);
    await vi.waitFor(() => expect(responses).toHaveLength(1), WAIT);
    const [first] = responses as [DeltaResponse];
    expect(first.controlPlane).toBe('east');
    expect(Object.keys(resourcesIn(first))).toEqual([wireName('cart')]);
    expect(resourcesIn(first)[wireName('cart')]?.spec).toEqual(byLabels);
    const message = expect.stringContaining('not "MeshSubset"') as unknown;
    const problem = { stream: 'zoneToGlobal', type: TYPE, kind: 'withheld', resources: [wireName('subset')], message };
    await vi.waitFor(async () => expect(await problems()).toEqual([expect.objectContaining(problem)]), WAIT);
    await put('subset', { targetRef: { kind: 'Mesh' } });
    await vi.waitFor(() => expect(responses).toHaveLength(2), WAIT);
    expect(Object.keys(resourcesIn(responses[1] as DeltaResponse))).toEqual([wireName('subset')]);
    await vi.waitFor(async () => expect(await problems()).toBeUndefined(), WAIT);
  });

  it('withholds resources that global cannot decode, and lists them on the zone with the field', async () => {
    await put('cart', byName);
    await put('broken', { targetRef: { kind: 5 } });
    const responses = await askedBy(KUMA);
    await vi.waitFor(() => expect(responses).toHaveLength(1), WAIT);
    expect(Object.keys(resourcesIn(responses[0] as DeltaResponse))).toEqual([wireName('cart')]);
    const message = expect.stringContaining('spec.targetRef.kind: must be a string') as unknown;
    const problem = { stream: 'zoneToGlobal', type: TYPE, kind: 'withheld', resources: [wireName('broken')], message };
    await vi.waitFor(async () => expect(await problems()).toEqual([expect.objectContaining(problem)]), WAIT);
  });

  it('sends resources unchanged when the global turns out to be Meridian', async () => {
    await put('cart', byName);
    const responses = await askedBy([...KUMA, feature.meridian]);
    await vi.waitFor(() => expect(responses).toHaveLength(1), WAIT);
    expect(resourcesIn(responses[0] as DeltaResponse)[wireName('cart')]?.spec).toEqual(byName);
  });

  it('sends 9 MiB in one message, withholds 11 MiB, and reports its type and size', async () => {
    for (let n = 0; n < 9; n += 1) await put(`t${String(n)}`, large);
    const responses = await askedBy(KUMA);
    await vi.waitFor(() => expect(responses).toHaveLength(1), WAIT);
    expect(responses[0]?.resources).toHaveLength(9);
    stop.abort();
    await running;
    stop = new AbortController();
    for (const name of ['t9', 't10']) await put(name, large);
    const none = await askedBy(KUMA);
    const withheld = (): string[] =>
      events.flatMap((event) => (event.kind === 'withheld' && event.all !== null ? [event.all] : []));
    await vi.waitFor(() => expect(withheld()).toHaveLength(1), WAIT);
    expect(withheld()[0]).toMatch(/^the state of type MeshTimeout is 115\d{5} bytes, over the limit of 10485760 for one message/);
    expect(none).toEqual([]);
  });

  it('accepts 9 MiB in one message', async () => {
    const answers: DeltaRequest[] = [];
    const entries = Array.from({ length: 9 }, (_, n) => {
      const resource = { name: `t${String(n)}`, mesh: 'default', labels: { 'kuma.io/origin': 'global' }, spec: large };
      const kumaResource = encodeKumaResource(typeOf(TYPE), { ...resource, status: undefined });
      return encodeResourceEntry({ name: `t${String(n)}.default`, version: 'v', kumaResource });
    });
    await connectTo((call, name) => {
      if (name !== 'globalToZoneSync') return;
      call.on('data', (bytes: Buffer) => {
        const request = decodeDeltaRequest(bytes);
        if (request.typeUrl !== TYPE) return;
        if (request.responseNonce !== '') answers.push(request);
        else call.write(encodeDeltaResponse({ typeUrl: TYPE, nonce: '1', controlPlane: 'global', entries, removed: [] }));
      });
    });
    await vi.waitFor(() => expect(answers).toHaveLength(1), WAIT);
    expect(answers).toMatchObject([{ responseNonce: '1', errorDetail: null }]);
    expect(await store.count({ type: TYPE })).toBe(9);
  });
});
