// Where a zone proxy listens, by what it has accepted of its view.
import { beforeEach, describe, expect, it } from 'vitest';
import { AcceptedListeners } from './accepted-listeners.ts';
import type { EncodedPart } from './encoded-part.ts';
import { ProxyView } from './proxy-view.ts';
import type { XdsType } from './session-messages.ts';

const NAME = '10.0.0.1:7';
const FORMER = 'self_zoneingress_dp_ingress';
const LISTENER = [['Listener', NAME]] as const;
let view: ProxyView;
let held: Set<string>;
let staying: Set<string>;
let accepted: AcceptedListeners;

function own(resources: readonly (readonly [XdsType, string])[]): EncodedPart {
  const made = resources.map(([type, name]) => ({ type, resource: { name, version: '1', bytes: new Uint8Array() } }));
  return { resources: made, problems: [] };
}

const places = (text: string): ProxyView['zonePlaces'] => new Map([[NAME, { text, formerName: FORMER }]]);

beforeEach(() => {
  view = new ProxyView();
  view.setOwn(own(LISTENER));
  view.zonePlaces = places('10.0.0.1 7');
  held = new Set();
  staying = new Set();
  accepted = new AcceptedListeners(view, {
    holds: (type, name) => held.has(`${type} ${name}`),
    stays: (_type, name) => staying.has(name),
  });
});

describe('a zone proxy listens', () => {
  it('where it has accepted a listener, and nothing is known before it asks for one', () => {
    expect(accepted.places()).toBeNull();
    accepted.begin([]);
    expect(accepted.places()).toEqual([]);
    held.add(`Listener ${NAME}`);
    expect(accepted.places()).toEqual(['10.0.0.1 7']);
  });

  it('as before while a later version of the listener is on its way', () => {
    accepted.begin([]);
    held.add(`Listener ${NAME}`);
    accepted.places();
    held.clear();
    view.zonePlaces = places('10.0.0.1 8');
    expect(accepted.places()).toEqual(['10.0.0.1 7']);
    held.add(`Listener ${NAME}`);
    expect(accepted.places()).toEqual(['10.0.0.1 8']);
  });

  it('with a listener from before its stream, and never where its Dataplane has no listener', () => {
    accepted.begin([NAME, 'other']);
    expect(accepted.places()).toEqual(['10.0.0.1 7']);
  });

  it('with a listener that has a name of an older version', () => {
    accepted.begin([FORMER]);
    expect(accepted.places()).toEqual(['10.0.0.1 7']);
  });

  it('when it has the routes of its listeners too', () => {
    view.setOwn(own([...LISTENER, ['RouteConfiguration', 'egress:a']]));
    accepted.begin([]);
    held.add(`Listener ${NAME}`);
    expect(accepted.places()).toEqual([]);
    held.add('RouteConfiguration egress:a');
    expect(accepted.places()).toEqual(['10.0.0.1 7']);
  });

  it('no longer when its listener goes, once the proxy is sent the removal', () => {
    accepted.begin([NAME]);
    view.setOwn(own([]));
    staying.add(NAME);
    expect(accepted.places()).toEqual(['10.0.0.1 7']);
    staying.clear();
    expect(accepted.places()).toEqual([]);
  });
});

it('a proxy without zone listeners has no places', () => {
  view.zonePlaces = new Map();
  accepted.begin(['outbound']);
  expect(accepted.places()).toBeNull();
});
