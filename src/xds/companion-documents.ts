// The documents that kuma-dp reads from a pipe of its proxy: which metrics it offers, which telemetry it sends, and which names it
// resolves (xds 3.4, 7).
import { createHash } from 'node:crypto';
import type { JsonObject } from '../resource/types.ts';
import { localManager } from './metrics.ts';

const NAME = 'system_dynamicconfig';

/** A document and the path at which kuma-dp asks for it. */
export type CompanionDocument = { readonly kind: 'meshmetric' | 'otel' | 'dns'; readonly content: JsonObject };

/**
 * The names that kuma-dp resolves. Outbounds have addresses of their own, so there are none. Without this document kuma-dp waits 15 s
 * before it is ready.
 */
export const DNS_DOCUMENT: CompanionDocument = { kind: 'dns', content: { records: [], ttl: 30 } };

/**
 * The listener that serves the documents. A request with the tag of the current document is answered 304.
 * @param workdir the folder of kuma-dp
 */
export function documentsListener(workdir: string, documents: readonly CompanionDocument[]): JsonObject {
  const texts = documents.map(({ kind, content }) => ({ kind, text: JSON.stringify(content) }));
  const routes = texts.flatMap(({ kind, text }) => {
    const tag = createHash('sha256').update(text).digest('hex');
    const path = `/${kind}`;
    const name = `${NAME}_${kind}`;
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
  });
  const longest = Math.max(...texts.map(({ text }) => Buffer.byteLength(text)));
  return {
    name: NAME,
    address: { pipe: { path: `${workdir}/kuma-mesh-metric-config.sock` } },
    statPrefix: NAME,
    filterChains: [
      {
        filters: [
          localManager(NAME, {
            virtualHosts: [{ name: NAME, domains: ['*'], routes }],
            maxDirectResponseBodySizeBytes: longest,
          }),
        ],
      },
    ],
  };
}
