// The documents that kuma-dp reads from a pipe of its proxy: which metrics it offers, which telemetry it sends, and which names it
// resolves (xds 3.4, 7).
import { hash } from 'node:crypto';
import { compareText } from '../base/compare-text.ts';
import { mappedAddress } from '../base/ip-range.ts';
import { perObject } from '../base/per-object.ts';
import type { DataplaneProxy } from '../policy/dataplane-proxy.ts';
import { isObject, numberOf, textOf } from '../resource/read-json.ts';
import type { Json, JsonObject } from '../resource/types.ts';
import { localManager } from './metrics.ts';
import type { Name } from './name-table.ts';
import { transparentProxying } from '../policy/transparent-proxying.ts';

/** The listener with the documents. */
export const DOCUMENTS_LISTENER = 'system_dynamicconfig';
/** The field that says how long a body may be. */
const LONGEST = 'maxDirectResponseBodySizeBytes';

/** A document and the path at which kuma-dp asks for it. */
export type CompanionDocument = { readonly kind: 'meshmetric' | 'otel' | 'dns'; readonly content: JsonObject };

/** What the names of a proxy are like in its document. */
export type DnsForm = {
  readonly mesh: string;
  readonly zone: string;
  /** The proxy has IPv6: an IPv4 address has its IPv4-mapped form beside it. */
  readonly hasIpv6: boolean;
};

/** Where the names of a proxy stand: the listener of its documents as it is without names, and their form. */
export type NameDocument = { readonly listener: JsonObject; readonly form: DnsForm };

export function dnsFormOf({ resource, zone }: Pick<DataplaneProxy, 'resource' | 'zone'>): DnsForm {
  const families = transparentProxying(resource)?.families ?? null;
  return { mesh: resource.mesh, zone, hasIpv6: families === null || families.includes(6) };
}

const TTL_SECONDS = 30;

/** The names that kuma-dp resolves. Without this document it waits 15 s before it is ready. */
export function dnsDocument(names: Iterable<Name>, { mesh, zone, hasIpv6 }: DnsForm): CompanionDocument {
  const sorted = [...names].sort((a, b) => compareText(a.hostname, b.hostname));
  const records = sorted.map((name) => (hasIpv6 ? mappedRecord(name) : record(name)));
  return { kind: 'dns', content: { records, ttl: TTL_SECONDS, extraLabels: { kuma_io_zone: zone, mesh } } };
}

const record = perObject(({ hostname, addresses }: Name): JsonObject => ({ name: hostname, ips: [...addresses] }));

const mappedRecord = perObject(({ hostname, addresses }: Name): JsonObject => {
  const mapped = addresses.flatMap((address) => mappedAddress(address) ?? []);
  return { name: hostname, ips: [...addresses, ...mapped] };
});

/**
 * The listener that serves the documents. A request with the tag of the current document is answered 304.
 * @param workdir the folder of kuma-dp
 */
export function documentsListener(workdir: string, documents: readonly CompanionDocument[]): JsonObject {
  const texts = documents.map(textOfDocument);
  const routes = texts.flatMap(routesOf);
  const longest = Math.max(...texts.map(({ bytes }) => bytes));
  return {
    name: DOCUMENTS_LISTENER,
    address: { pipe: { path: `${workdir}/kuma-mesh-metric-config.sock` } },
    statPrefix: DOCUMENTS_LISTENER,
    filterChains: [
      {
        filters: [
          localManager(DOCUMENTS_LISTENER, {
            virtualHosts: [{ name: DOCUMENTS_LISTENER, domains: ['*'], routes }],
            [LONGEST]: longest,
          }),
        ],
      },
    ],
  };
}

/** A document as it is sent. */
export type DocumentText = {
  readonly kind: CompanionDocument['kind'];
  readonly text: string;
  readonly tag: string;
  readonly bytes: number;
};

export function textOfDocument({ kind, content }: CompanionDocument): DocumentText {
  const text = JSON.stringify(content);
  return { kind, text, tag: hash('sha256', text, 'hex'), bytes: Buffer.byteLength(text) };
}

/** The listener with another version of one of its documents. */
export function withDocument(listener: JsonObject, document: DocumentText): JsonObject {
  const routes = new Map(routesOf(document).map((route) => [textOf(route['name']), route]));
  return replaced(listener, routes, document.bytes);
}

function replaced(object: JsonObject, routes: ReadonlyMap<string, JsonObject>, bytes: number): JsonObject {
  const route = routes.get(textOf(object['name']));
  if (route !== undefined) return route;
  const inside = (value: Json | undefined): Json | undefined => {
    if (Array.isArray(value)) return value.map((item) => inside(item) ?? null);
    return isObject(value) ? replaced(value, routes, bytes) : value;
  };
  const fields = Object.entries(object).map(([key, value]) => [
    key,
    key === LONGEST ? Math.max(numberOf(value), bytes) : inside(value),
  ]);
  return Object.fromEntries(fields) as JsonObject;
}

function routesOf({ kind, text, tag }: DocumentText): JsonObject[] {
  const path = `/${kind}`;
  const name = `${DOCUMENTS_LISTENER}_${kind}`;
  return [
    {
      name: `${name}_not_modified`,
      match: { path, headers: [{ name: 'If-None-Match', stringMatch: { exact: tag } }] },
      directResponse: { status: 304 },
    },
    {
      name,
      match: { path },
      directResponse: { status: 200, body: { inlineString: text } },
      responseHeadersToAdd: [{ header: { key: 'Etag', value: tag } }],
    },
  ];
}
