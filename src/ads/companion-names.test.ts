// When a name is in the document of kuma-dp: by what the proxy has accepted of its view.
import { beforeEach, describe, expect, it } from 'vitest';
import { objectsOf, textOf } from '../resource/read-json.ts';
import { envoyBinaryToJson } from '../wire/binary-to-json.ts';
import { decodeDeltaResponse } from '../wire/kds-messages.ts';
import { dnsDocument, documentsListener } from '../xds/companion-documents.ts';
import type { Name, NameTable } from '../xds/name-table.ts';
import { CompanionNames } from './companion-names.ts';
import { XDS_MESSAGES } from './encode-resources.ts';
import type { EncodedPart } from './encoded-part.ts';
import { ProxyView } from './proxy-view.ts';
import type { XdsType } from './session-messages.ts';

const LISTENER = 'system_dynamicconfig';
const FORM = { mesh: 'shop', zone: 'east', hasIpv6: false };
const CATALOG: Name = { hostname: 'catalog', addresses: ['241.0.0.1'], places: ['241.0.0.1:80', '241.0.0.1:90'] };
const CART: Name = { hostname: 'cart', addresses: ['241.0.0.2'], places: ['241.0.0.2:80'] };

let view: ProxyView;
let held: Set<string>;
let names: CompanionNames;

function part(...resources: readonly (readonly [XdsType, string])[]): EncodedPart {
  const made = resources.map(([type, name]) => ({ type, resource: { name, version: '1', bytes: new Uint8Array() } }));
  return { resources: made, problems: [] };
}

/** The listener of a name at one place, with its routes. */
function outbound(kri: string, place: string): void {
  const resources = part(['Listener', place], ['RouteConfiguration', kri]);
  view.setOutbound(kri, { ...resources, isOwn: false, serial: 1, destinations: [] } as never);
}

function have(...table: readonly Name[]): void {
  view.hostnames = new Map(table.map((name) => [name.hostname, name])) satisfies NameTable;
}

/** The document, as the bytes of its listener have it. */
function text(): string {
  const { resources } = decodeDeltaResponse(view.get('Listener', LISTENER)?.bytes ?? new Uint8Array());
  const json = JSON.stringify(envoyBinaryToJson(XDS_MESSAGES.Listener, resources[0]?.resource ?? new Uint8Array()));
  return JSON.parse(`"${/"inlineString":"((?:[^"\\]|\\.)*)"/.exec(json)?.[1] ?? ''}"`) as string;
}

/** Its hostnames; null where the listener is that of the proxy's own part. */
function documented(): string[] | null {
  names.refresh();
  if (view.documents === null) return null;
  const { records } = JSON.parse(text()) as { records: unknown };
  return objectsOf(records).map(({ name }) => textOf(name));
}

beforeEach(() => {
  view = new ProxyView();
  view.setOwn(part(['Listener', LISTENER]));
  view.nameDocument = { listener: documentsListener('/run', [dnsDocument([], FORM)]), form: FORM };
  held = new Set();
  names = new CompanionNames(view, { holds: (type, name) => held.has(`${type} ${name}`) });
});

function accept(...listeners: readonly string[]): void {
  for (const name of listeners) held.add(`Listener ${name}`);
}

describe('a name', () => {
  it('is in the document when the proxy has accepted all listeners behind it', () => {
    have(CATALOG, CART);
    names.begin([]);
    expect(documented()).toEqual([]);
    accept('241.0.0.1:80', '241.0.0.2:80');
    expect(documented()).toEqual(['cart']);
    accept('241.0.0.1:90');
    expect(documented()).toEqual(['cart', 'catalog']);
  });

  it('waits for the routes of its listener', () => {
    outbound('kri_cart', '241.0.0.2:80');
    have(CART);
    names.begin([]);
    accept('241.0.0.2:80');
    expect(documented()).toEqual([]);
    held.add('RouteConfiguration kri_cart');
    expect(documented()).toEqual(['cart']);
  });

  it('is in the document at once where the proxy has its listeners from before its stream, and not before it says so', () => {
    have(CATALOG, CART);
    expect(documented()).toEqual([]);
    names.begin(['241.0.0.2:80']);
    expect(documented()).toEqual(['cart']);
  });

  it('is in the document at once also where its service has another port since', () => {
    have(CATALOG, CART);
    names.begin(['241.0.0.1:80']);
    expect(documented()).toEqual(['catalog']);
    accept('241.0.0.1:90');
    expect(documented()).toEqual(['catalog']);
  });

  it('stays while a later version of its listener is on its way or refused', () => {
    have(CART);
    names.begin([]);
    accept('241.0.0.2:80');
    documented();
    held.clear();
    expect(documented()).toEqual(['cart']);
    have({ ...CART, addresses: ['241.0.0.2'] }, CATALOG);
    expect(documented()).toEqual(['cart']);
  });

  it('leaves with its listener, and waits for it when it comes back', () => {
    have(CART);
    names.begin(['241.0.0.2:80']);
    documented();
    have();
    expect(documented()).toEqual([]);
    have(CART);
    expect(documented()).toEqual([]);
    accept('241.0.0.2:80');
    expect(documented()).toEqual(['cart']);
  });

  it('stays when its service has another port', () => {
    have(CART);
    names.begin(['241.0.0.2:80']);
    documented();
    have({ ...CART, places: ['241.0.0.2:80', '241.0.0.2:90'] });
    expect(documented()).toEqual(['cart']);
    accept('241.0.0.2:90');
    expect(documented()).toEqual(['cart']);
  });

  it('keeps its address until the proxy has the listener of the next one', () => {
    const [next, last] = ['241.0.0.8', '241.0.0.9'].map((address) => ({
      ...CART,
      addresses: [address],
      places: [`${address}:80`],
    }));
    have(CART);
    names.begin(['241.0.0.2:80']);
    documented();
    for (const moved of [next, last]) {
      have(moved as Name);
      documented();
      expect(text()).toContain('241.0.0.2');
    }
    accept('241.0.0.9:80');
    documented();
    expect(text()).toContain('241.0.0.9');
    have();
    expect(documented()).toEqual([]);
  });
});

describe('the document of names', () => {
  it('changes its listener only when its names change', () => {
    have(CART);
    names.begin([]);
    names.refresh();
    expect(names.refresh()).toBeNull();
    const before = view.get('Listener', LISTENER)?.version;
    accept('241.0.0.2:80');
    expect(names.refresh()).toBe(before);
    have({ ...CART });
    expect(names.refresh()).toBeNull();
  });

  it('is one text for all proxies that have the same names', () => {
    have(CART);
    const other = new ProxyView();
    other.nameDocument = { listener: documentsListener('/other', [dnsDocument([], FORM)]), form: FORM };
    other.hostnames = view.hostnames;
    const ofOther = new CompanionNames(other, { holds: () => true });
    for (const one of [names, ofOther]) one.begin(['241.0.0.2:80']);
    names.refresh();
    ofOther.refresh();
    expect(view.documents?.version).not.toBe(other.documents?.version);
    expect(documented()).toEqual(['cart']);
  });

  it('goes with the listener of the documents', () => {
    have(CART);
    names.begin(['241.0.0.2:80']);
    documented();
    const before = view.documents?.version;
    view.nameDocument = null;
    expect(names.refresh()).toBe(before);
    expect([view.documents, names.refresh()]).toEqual([null, null]);
  });

  it('is that of the own part for a proxy without a program that resolves names', () => {
    view.nameDocument = null;
    have(CART);
    names.begin([]);
    expect([names.refresh(), documented()]).toEqual([null, null]);
  });
});
