// One stream of a proxy, with requests that the test makes.
import { beforeEach, describe, expect, it, vi, type MockInstance } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { makeRow } from '../../test/support/make-row.ts';
import { createLogger } from '../base/log.ts';
import { TYPE_URL_PREFIX } from '../wire/any.ts';
import type { DeltaRequest } from '../wire/kds-messages.ts';
import { dataplanePlaces } from '../xds/dataplane-places.ts';
import { XDS_MESSAGES } from './encode-resources.ts';
import { ProxyConnection } from './proxy-connection.ts';
import { countByEvents, type ProxyEvent } from './proxy-events.ts';
import { ProxyView } from './proxy-view.ts';
import { NameSets } from './name-sets.ts';
import { RequestReader } from './request-reader.ts';
import { ResponseEncoder } from './response-encoder.ts';

const facts = { streamId: 's', mesh: 'shop', name: 'web', run: '', isZoneProxy: false, namespace: '', version: {}, metadata: {} };
const CLUSTER = TYPE_URL_PREFIX + XDS_MESSAGES.Cluster;
let view: ProxyView;
let stream: { written: number; writableNeedDrain: boolean };
let events: ProxyEvent[];
let warn: MockInstance;
let connection: ProxyConnection;
let clock: ManualClock;

beforeEach(() => {
  view = new ProxyView();
  const resource = { name: 'a', version: '1', bytes: new Uint8Array() };
  view.setOwn({ resources: [{ type: 'Cluster', resource }], problems: [] });
  stream = { written: 0, writableNeedDrain: false };
  events = [];
  clock = new ManualClock();
  const log = createLogger('silent');
  warn = vi.spyOn(log, 'warn');
  connection = new ProxyConnection({
    ...{
      facts,
      view,
      requests: new RequestReader(),
      encoder: new ResponseEncoder('cp'),
      nameSets: new NameSets(),
      log,
      clock,
      drainMs: 0,
    },
    stream: {
      write: () => {
        stream.written += 1;
        return true;
      },
      get writableNeedDrain() {
        return stream.writableNeedDrain;
      },
    },
    observe: (event) => void events.push(event),
    counter: countByEvents((event) => void events.push({ ...event, run: 'counted' }))(facts),
  });
});

function ask(typeUrl: string, more: Partial<DeltaRequest> = {}): void {
  connection.handle({
    ...{ node: { id: 'shop.web' }, typeUrl, subscribe: [], unsubscribe: [], initialResourceVersions: new Map() },
    ...{ responseNonce: '', errorDetail: null },
    ...more,
  });
}

describe('a stream of a proxy', () => {
  it('answers a request, and reports what was sent and accepted', () => {
    ask(CLUSTER);
    ask(CLUSTER, { responseNonce: '1' });
    ask(CLUSTER, { responseNonce: '1' });
    expect(stream.written).toBe(1);
    expect(events).toEqual([
      { ...facts, run: 'counted', kind: 'sent', type: 'Cluster' },
      { ...facts, run: 'counted', kind: 'accepted', type: 'Cluster', standing: [] },
    ]);
  });

  it('tells of an acceptance that ends a refusal, and counts the next one', () => {
    const change = (version: string): void => {
      view.setOwn({ resources: [{ type: 'Cluster', resource: { name: 'a', version, bytes: new Uint8Array() } }], problems: [] });
      connection.viewChanged(new Map([['Cluster', new Map([['a', 'before']])]]));
    };
    ask(CLUSTER);
    ask(CLUSTER, { responseNonce: '1', errorDetail: { code: 13, message: 'no', details: [] } });
    change('2');
    ask(CLUSTER, { responseNonce: '2' });
    change('3');
    ask(CLUSTER, { responseNonce: '3' });
    const answers = events.filter(({ kind }) => kind === 'accepted');
    expect(answers.map(({ run }) => run)).toEqual(['', 'counted']);
  });

  it.each([
    ['the whole reason of a refusal as long as Envoy sends it', 'x'.repeat(4_110), 'x'.repeat(4_110)],
    ['a longer reason of a refusal cut as Envoy cuts it', 'x'.repeat(4_111), `${'x'.repeat(4_096)}...(truncated)`],
  ])('reports %s', (_, message, reason) => {
    ask(CLUSTER);
    ask(CLUSTER, { responseNonce: '1', errorDetail: { code: 13, message, details: [] } });
    const refusal = { type: 'Cluster', name: 'a', version: '1', reason };
    expect(events[1]).toEqual({
      ...facts,
      kind: 'refused',
      type: 'Cluster',
      refusals: [refusal],
      standing: [refusal],
    });
  });

  it('reports where a zone proxy listens, once it has accepted the listener and its route', () => {
    const [LISTENER, ROUTE] = ['Listener', 'RouteConfiguration'] as const;
    const resource = { name: '10.0.0.1:7', version: '1', bytes: new Uint8Array() };
    view.setOwn({ resources: [LISTENER, ROUTE].map((type) => ({ type, resource })), problems: [] });
    const networking = { zoneEgress: { address: '10.0.0.1', port: 7 } };
    view.places = dataplanePlaces({ resource: makeRow('Dataplane', 'a', { spec: { networking } }) });
    const places = (): unknown[] => events.flatMap((event) => (event.kind === 'listens' ? [event.places] : []));
    const answer = (type: typeof LISTENER | typeof ROUTE, more: Partial<DeltaRequest> = {}): void =>
      ask(TYPE_URL_PREFIX + XDS_MESSAGES[type], more);
    answer(LISTENER);
    answer(LISTENER, { responseNonce: '1' });
    expect(places()).toEqual([[]]);
    answer(ROUTE, { subscribe: ['10.0.0.1:7'] });
    answer(ROUTE, { responseNonce: '2' });
    expect(places()).toEqual([[], ['10.0.0.1 7']]);
    const place = { address: '10.0.0.1', port: 7 };
    const moved = events.flatMap((event) => (event.kind === 'moved' ? [event.open] : []));
    expect(moved).toEqual([[{ section: 'zoneEgress', bound: place, reach: place }]]);
  });

  it('tries a refused resource again, and reports the same refusal once', async () => {
    const error = { errorDetail: { code: 13, message: 'a: in use', details: [] } };
    ask(CLUSTER);
    ask(CLUSTER, { responseNonce: '1', ...error });
    await clock.advance(10_000);
    expect(stream.written).toBe(2);
    ask(CLUSTER, { responseNonce: '2', ...error });
    const refusals = events.flatMap((event) => (event.kind === 'refused' ? [event.refusals.length] : []));
    expect(refusals).toEqual([1, 0]);
    connection.end();
    await clock.advance(10_000);
    expect(stream.written).toBe(2);
  });

  it('sends nothing while the stream has to drain', () => {
    stream.writableNeedDrain = true;
    ask(CLUSTER);
    expect([stream.written, events]).toEqual([0, []]);
    stream.writableNeedDrain = false;
    connection.flush();
    expect(stream.written).toBe(1);
  });

  it('logs twenty unknown types, each once and with 200 characters, and answers none', () => {
    ask('x'.repeat(300));
    expect(warn).toHaveBeenCalledWith({ typeUrl: 'x'.repeat(200) }, 'the proxy asks for a type that is not served');
    for (let n = 1; n < 30; n += 1) for (let time = 0; time < 2; time += 1) ask(`type ${String(n)}`);
    expect(warn).toHaveBeenCalledTimes(20);
    expect(stream.written).toBe(0);
  });
});
