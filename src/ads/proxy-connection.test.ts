// One stream of a proxy, with requests that the test makes.
import { beforeEach, describe, expect, it, vi, type MockInstance } from 'vitest';
import { createLogger } from '../base/log.ts';
import { TYPE_URL_PREFIX } from '../wire/any.ts';
import type { DeltaRequest } from '../wire/kds-messages.ts';
import { XDS_MESSAGES } from './encode-resources.ts';
import { ProxyConnection } from './proxy-connection.ts';
import type { ProxyEvent } from './proxy-events.ts';
import { ProxyView } from './proxy-view.ts';
import { NameSets } from './name-sets.ts';
import { ResponseEncoder } from './response-encoder.ts';

const facts = { streamId: 's', mesh: 'shop', name: 'web', run: '', isZoneProxy: false, version: {}, metadata: {} };
const CLUSTER = TYPE_URL_PREFIX + XDS_MESSAGES.Cluster;
let view: ProxyView;
let stream: { written: number; writableNeedDrain: boolean };
let events: ProxyEvent[];
let warn: MockInstance;
let connection: ProxyConnection;

beforeEach(() => {
  view = new ProxyView();
  const resource = { name: 'a', version: '1', bytes: new Uint8Array() };
  view.setOwn({ resources: [{ type: 'Cluster', resource }], problems: [] });
  stream = { written: 0, writableNeedDrain: false };
  events = [];
  const log = createLogger('silent');
  warn = vi.spyOn(log, 'warn');
  connection = new ProxyConnection({
    ...{ facts, view, encoder: new ResponseEncoder('cp'), nameSets: new NameSets(), log },
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
      { ...facts, kind: 'sent', type: 'Cluster', nonce: '1', resources: 1 },
      { ...facts, kind: 'accepted', type: 'Cluster', nonce: '1', standing: [] },
    ]);
  });

  it('reports a refusal with 4,000 characters of its reason', () => {
    ask(CLUSTER);
    ask(CLUSTER, { responseNonce: '1', errorDetail: { code: 13, message: 'x'.repeat(5_000), details: [] } });
    const refusal = { type: 'Cluster', name: 'a', version: '1', reason: 'x'.repeat(4_000) };
    expect(events[1]).toEqual({
      ...facts,
      kind: 'refused',
      type: 'Cluster',
      nonce: '1',
      refusals: [refusal],
      standing: [refusal],
    });
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
