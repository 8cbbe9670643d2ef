// Where a proxy listens, by what it has accepted of its view.
import { beforeEach, describe, expect, it } from 'vitest';
import { makeRow } from '../../test/support/make-row.ts';
import type { JsonObject } from '../resource/types.ts';
import { dataplanePlaces } from '../xds/dataplane-places.ts';
import { AcceptedListeners } from './accepted-listeners.ts';
import type { EncodedPart } from './encoded-part.ts';
import { ProxyView } from './proxy-view.ts';
import type { XdsType } from './session-messages.ts';

const NAME = '10.0.0.1:7';
const NEXT = '10.0.0.1:8';
const FORMER = 'self_zoneegress_dp_egress';
const LISTENER = [['Listener', NAME]] as const;
let view: ProxyView;
let held: Set<string>;
let staying: Set<string>;
let accepted: AcceptedListeners;

function own(resources: readonly (readonly [XdsType, string])[]): EncodedPart {
  const made = resources.map(([type, name]) => ({ type, resource: { name, version: '1', bytes: new Uint8Array() } }));
  return { resources: made, problems: [] };
}

const at = (section: string, port: number): JsonObject => {
  const place = { address: '10.0.0.1', port };
  return { section, bound: place, reach: place };
};

/** The Dataplane has these places from now on. */
function be(networking: JsonObject, opened?: JsonObject[]): void {
  const status: JsonObject = opened === undefined ? {} : { opened };
  view.places = dataplanePlaces({ resource: makeRow('Dataplane', 'a', { spec: { networking }, status }) });
}

const egress = (port: number): JsonObject => ({ zoneEgress: { address: '10.0.0.1', port } });
const inbound = (port: number): JsonObject => ({ address: '10.0.0.1', inbound: [{ name: 'main', port }] });

beforeEach(() => {
  view = new ProxyView();
  view.setOwn(own(LISTENER));
  be(egress(7));
  view.formerNames = new Map([[NAME, FORMER]]);
  held = new Set();
  staying = new Set();
  accepted = new AcceptedListeners(view, {
    holds: (type, name) => held.has(`${type} ${name}`),
    stays: (_type, name) => staying.has(name),
  });
});

describe('a zone proxy listens', () => {
  it('where it has accepted a listener, and nothing is known before it asks for one', () => {
    expect(accepted.zonePlaces()).toBeNull();
    accepted.begin([]);
    expect(accepted.zonePlaces()).toEqual([]);
    held.add(`Listener ${NAME}`);
    expect(accepted.zonePlaces()).toEqual(['10.0.0.1 7']);
  });

  it('as before while a later version of the listener is on its way', () => {
    accepted.begin([]);
    held.add(`Listener ${NAME}`);
    accepted.zonePlaces();
    held.clear();
    be(egress(7));
    expect(accepted.zonePlaces()).toEqual(['10.0.0.1 7']);
  });

  it('at two places while it moves', () => {
    accepted.begin([NAME]);
    be(egress(8), [at('zoneEgress', 7)]);
    view.setOwn(own([['Listener', NEXT]]));
    staying.add(NAME);
    expect(accepted.zonePlaces()).toEqual(['10.0.0.1 7']);
    held.add(`Listener ${NEXT}`);
    expect(accepted.zonePlaces()).toEqual(['10.0.0.1 7', '10.0.0.1 8']);
    staying.clear();
    expect(accepted.zonePlaces()).toEqual(['10.0.0.1 8']);
  });

  it('with a listener from before its stream, and never where its Dataplane has no listener', () => {
    accepted.begin([NAME, 'other']);
    expect(accepted.zonePlaces()).toEqual(['10.0.0.1 7']);
  });

  it('with a listener from before its stream at a place that its Dataplane has left', () => {
    be(egress(8), [at('zoneEgress', 7)]);
    view.setOwn(own([['Listener', NEXT]]));
    staying.add(NAME);
    accepted.begin([NAME]);
    expect(accepted.zonePlaces()).toEqual(['10.0.0.1 7']);
  });

  it('with a listener that has a name of an older version', () => {
    accepted.begin([FORMER]);
    expect(accepted.zonePlaces()).toEqual(['10.0.0.1 7']);
  });

  it('when it has the routes of its listeners too', () => {
    view.setOwn(own([...LISTENER, ['RouteConfiguration', 'egress:a']]));
    accepted.begin([]);
    held.add(`Listener ${NAME}`);
    expect(accepted.zonePlaces()).toEqual([]);
    held.add('RouteConfiguration egress:a');
    expect(accepted.zonePlaces()).toEqual(['10.0.0.1 7']);
  });

  it('no longer when its listener goes, once the proxy is sent the removal', () => {
    accepted.begin([NAME]);
    view.setOwn(own([]));
    be(egress(7));
    staying.add(NAME);
    expect(accepted.zonePlaces()).toEqual(['10.0.0.1 7']);
    staying.clear();
    expect(accepted.zonePlaces()).toEqual([]);
  });
});

describe('the row of a Dataplane should say', () => {
  it('nothing before a section is open, and nothing that it says', () => {
    be(inbound(7));
    expect(accepted.opened()).toBeNull();
    accepted.begin([]);
    expect(accepted.opened()).toBeNull();
    held.add(`Listener ${NAME}`);
    expect(accepted.opened()?.next).toEqual([at('inbound main', 7)]);
    be(inbound(7), [at('inbound main', 7)]);
    expect(accepted.opened()).toBeNull();
  });

  it('the last place of a section that moves until the other one is open, and both then', () => {
    be(inbound(8), [at('inbound main', 7)]);
    view.setOwn(own([['Listener', NEXT]]));
    accepted.begin([]);
    expect(accepted.opened()).toBeNull();
    held.add(`Listener ${NEXT}`);
    expect(accepted.opened()?.next).toEqual([at('inbound main', 8), at('inbound main', 7)]);
  });

  it('no place of a section that has gone', () => {
    be(inbound(7), [at('inbound main', 7), at('inbound other', 9)]);
    accepted.begin([NAME]);
    expect(accepted.opened()?.next).toEqual([at('inbound main', 7)]);
  });
});

it('a proxy without zone listeners has no places of them', () => {
  be(inbound(7));
  accepted.begin(['outbound']);
  expect(accepted.zonePlaces()).toBeNull();
});
