// A match of `rules[]` on the client of a request, as a predicate of Envoy's matchers (policies 1.3, xds 6).
import type { InboundMatch } from '../schema/inbound-match.ts';
import type { JsonObject } from '../resource/types.ts';
import { extension } from './proto-json.ts';

/** The match of every client with a certificate of the mesh. */
export const EVERYONE: InboundMatch = { spiffeID: { type: 'Prefix', value: 'spiffe://' } };

/** Whether a match has neither a SPIFFE ID nor a server name. */
export function isEmptyMatch({ spiffeID, sni }: InboundMatch | JsonObject): boolean {
  return spiffeID === undefined && sni === undefined;
}

/** The predicate for a SPIFFE ID and a server name, which must both fit; null where the match names neither. */
export function clientPredicate({ spiffeID, sni }: InboundMatch): JsonObject | null {
  const predicates = [
    ...(spiffeID === undefined ? [] : [spiffePredicate(spiffeID)]),
    ...(sni === undefined ? [] : [serverNamePredicate(sni)]),
  ];
  const [first] = predicates;
  if (first === undefined) return null;
  return predicates.length === 1 ? first : { andMatcher: { predicate: predicates } };
}

function spiffePredicate({ type, value }: NonNullable<InboundMatch['spiffeID']>): JsonObject {
  const input = extension('envoy.matching.inputs.uri_san', 'extensions.matching.common_inputs.ssl.v3.UriSanInput');
  const valueMatch = type === 'Prefix' ? { prefix: value } : { exact: value };
  return { singlePredicate: { input, valueMatch } };
}

function serverNamePredicate({ value }: NonNullable<InboundMatch['sni']>): JsonObject {
  const input = extension('envoy.matching.inputs.server_name', 'extensions.matching.common_inputs.network.v3.ServerNameInput');
  return { singlePredicate: { input, valueMatch: { exact: value } } };
}
