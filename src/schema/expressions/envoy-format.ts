// The command language of Envoy's access logs and header values: `%REQ(:PATH)%`. Envoy 1.40 was asked for each command; a text that
// it cannot read makes it refuse the whole listener or route configuration. Pure.
import { isEnvoyCel } from './envoy-cel.ts';

/** The text that is allowed, in words for errors. */
export const FORMAT_FORM = 'a "%" begins a command of Envoy such as "%REQ(:PATH)%", and "%%" is a percent sign';

/** Commands without an argument. */
const PLAIN = [
  'REQUEST_HEADERS_BYTES BYTES_RECEIVED BYTES_RETRANSMITTED PACKETS_RETRANSMITTED PROTOCOL UPSTREAM_PROTOCOL RESPONSE_CODE',
  'CONNECTION_TERMINATION_DETAILS RESPONSE_HEADERS_BYTES RESPONSE_TRAILERS_BYTES BYTES_SENT UPSTREAM_REQUEST_ATTEMPT_COUNT',
  'UPSTREAM_TLS_CIPHER UPSTREAM_WIRE_BYTES_SENT UPSTREAM_WIRE_BYTES_RECEIVED UPSTREAM_HEADER_BYTES_SENT',
  'UPSTREAM_HEADER_BYTES_RECEIVED UPSTREAM_DECOMPRESSED_HEADER_BYTES_SENT UPSTREAM_DECOMPRESSED_HEADER_BYTES_RECEIVED',
  'DOWNSTREAM_WIRE_BYTES_SENT DOWNSTREAM_WIRE_BYTES_RECEIVED DOWNSTREAM_HEADER_BYTES_SENT DOWNSTREAM_HEADER_BYTES_RECEIVED',
  'DOWNSTREAM_DECOMPRESSED_HEADER_BYTES_SENT DOWNSTREAM_DECOMPRESSED_HEADER_BYTES_RECEIVED DURATION REQUEST_DURATION',
  'REQUEST_TX_DURATION RESPONSE_DURATION RESPONSE_TX_DURATION DOWNSTREAM_HANDSHAKE_DURATION ROUNDTRIP_DURATION',
  'UPSTREAM_CONNECTION_POOL_READY_DURATION RESPONSE_FLAGS RESPONSE_FLAGS_LONG UPSTREAM_HOST UPSTREAM_HOST_NAME',
  'UPSTREAM_HOST_NAME_WITHOUT_PORT UPSTREAM_HOSTS_ATTEMPTED UPSTREAM_HOSTS_ATTEMPTED_WITHOUT_PORT',
  'UPSTREAM_HOST_NAMES_ATTEMPTED UPSTREAM_HOST_NAMES_ATTEMPTED_WITHOUT_PORT UPSTREAM_CONNECTION_IDS_ATTEMPTED',
  'UPSTREAM_CLUSTER UPSTREAM_CLUSTER_RAW UPSTREAM_TRANSPORT_FAILURE_REASON DOWNSTREAM_TRANSPORT_FAILURE_REASON',
  'UPSTREAM_DETECTED_CLOSE_TYPE DOWNSTREAM_DETECTED_CLOSE_TYPE UPSTREAM_LOCAL_CLOSE_REASON DOWNSTREAM_LOCAL_CLOSE_REASON',
  'REQUESTED_SERVER_NAME ROUTE_NAME CONNECTION_ID UPSTREAM_CONNECTION_ID STREAM_ID HOSTNAME GRPC_STATUS_NUMBER',
  'LOCAL_REPLY_BODY FILTER_CHAIN_NAME VIRTUAL_CLUSTER_NAME TLS_JA3_FINGERPRINT TLS_JA4_FINGERPRINT UNIQUE_ID TRACE_ID',
  'SPAN_ID ACCESS_LOG_TYPE QUERY_PARAMS CUSTOM_FLAGS DOWNSTREAM_LOCAL_DNS_SAN UPSTREAM_PEER_URI_SAN UPSTREAM_PEER_DNS_SAN',
  'UPSTREAM_PEER_IP_SAN UPSTREAM_PEER_SUBJECT UPSTREAM_LOCAL_URI_SAN UPSTREAM_LOCAL_DNS_SAN UPSTREAM_LOCAL_IP_SAN',
  'UPSTREAM_PEER_ISSUER UPSTREAM_PEER_CERT UPSTREAM_TLS_SESSION_ID UPSTREAM_TLS_VERSION DOWNSTREAM_PEER_URI_SAN',
  'DOWNSTREAM_PEER_DNS_SAN DOWNSTREAM_PEER_IP_SAN DOWNSTREAM_PEER_EMAIL_SAN DOWNSTREAM_PEER_OTHERNAME_SAN',
  'DOWNSTREAM_PEER_SUBJECT DOWNSTREAM_LOCAL_URI_SAN DOWNSTREAM_LOCAL_IP_SAN DOWNSTREAM_LOCAL_EMAIL_SAN',
  'DOWNSTREAM_LOCAL_OTHERNAME_SAN DOWNSTREAM_LOCAL_SUBJECT DOWNSTREAM_PEER_ISSUER DOWNSTREAM_PEER_FINGERPRINT_256',
  'DOWNSTREAM_PEER_FINGERPRINT_1 DOWNSTREAM_PEER_SERIAL DOWNSTREAM_PEER_CHAIN_FINGERPRINTS_256',
  'DOWNSTREAM_PEER_CHAIN_FINGERPRINTS_1 DOWNSTREAM_PEER_CHAIN_SERIALS DOWNSTREAM_PEER_CERT DOWNSTREAM_TLS_SESSION_ID',
  'DOWNSTREAM_TLS_CIPHER DOWNSTREAM_TLS_VERSION UPSTREAM_LOCAL_ADDRESS UPSTREAM_LOCAL_PORT UPSTREAM_REMOTE_ADDRESS',
  'UPSTREAM_REMOTE_PORT UPSTREAM_REMOTE_ADDRESS_ENDPOINT_ID DOWNSTREAM_LOCAL_ADDRESS DOWNSTREAM_LOCAL_PORT',
  'DOWNSTREAM_LOCAL_ADDRESS_ENDPOINT_ID DOWNSTREAM_REMOTE_ADDRESS DOWNSTREAM_REMOTE_PORT DOWNSTREAM_DIRECT_REMOTE_ADDRESS',
  'DOWNSTREAM_DIRECT_REMOTE_PORT DOWNSTREAM_DIRECT_LOCAL_ADDRESS DOWNSTREAM_DIRECT_LOCAL_PORT',
  'DOWNSTREAM_DIRECT_LOCAL_ADDRESS_ENDPOINT_ID',
]
  .join(' ')
  .split(' ');

/** A header, or a second one in its place. */
const NAMES = /^:?[\w!#$%&'*+\-.^`|~]+(\?:?[\w!#$%&'*+\-.^`|~]+)?$/;
const STATE = /^[^\s:]+(:(PLAIN|TYPED|FIELD:[^:]+))?$/;

/** Commands with an argument, and what it may be. Null: any, or none. */
const WITH_ARGUMENT: ReadonlyMap<string, RegExp | null> = new Map([
  ...['START_TIME', 'START_TIME_LOCAL', 'EMIT_TIME', 'EMIT_TIME_LOCAL'].map((name) => [name, null] as const),
  ...['UPSTREAM', 'DOWNSTREAM'].flatMap((side) => [
    [`${side}_PEER_CERT_V_START`, null] as const,
    [`${side}_PEER_CERT_V_END`, null] as const,
  ]),
  ...['REQ', 'RESP', 'TRAILER'].map((name) => [name, NAMES] as const),
  ...['QUERY_PARAM', 'ENVIRONMENT', 'DYNAMIC_METADATA', 'CLUSTER_METADATA', 'UPSTREAM_METADATA'].map(
    (name) => [name, /^[^\s]+$/] as const,
  ),
  ['FILTER_STATE', STATE],
  ['UPSTREAM_FILTER_STATE', STATE],
  ['METADATA', /^(DYNAMIC|CLUSTER|ROUTE|UPSTREAM_HOST):[^\s]+$/],
  [
    'COMMON_DURATION',
    /^(DS_RX_BEG|DS_RX_END|US_TX_BEG|US_TX_END|US_RX_BEG|US_RX_END|DS_TX_BEG|DS_TX_END):(DS_RX_BEG|DS_RX_END|US_TX_BEG|US_TX_END|US_RX_BEG|US_RX_END|DS_TX_BEG|DS_TX_END)(:(ms|us|ns))?$/,
  ],
]);
/** Commands that take an argument or stand alone. */
const MAY_HAVE_ARGUMENT: ReadonlyMap<string, RegExp> = new Map([
  ['PATH', /^(NQ|WQ)(:(PATH|ORIG))?$/],
  ['GRPC_STATUS', /^(CAMEL_STRING|SNAKE_STRING|NUMBER)$/],
  ['RESPONSE_CODE_DETAILS', /^ALLOW_WHITESPACES$/],
  ...[
    'UPSTREAM_LOCAL',
    'UPSTREAM_REMOTE',
    'DOWNSTREAM_LOCAL',
    'DOWNSTREAM_REMOTE',
    'DOWNSTREAM_DIRECT_REMOTE',
    'DOWNSTREAM_DIRECT_LOCAL',
  ].map((name) => [`${name}_ADDRESS_WITHOUT_PORT`, /^$/] as const),
]);
/** Commands whose value can be cut: `%REQ(USER-AGENT):20%`. */
const CUT: ReadonlySet<string> = new Set(['REQ', 'RESP', 'TRAILER', 'QUERY_PARAM']);
const WITHOUT_ARGUMENT: ReadonlySet<string> = new Set(PLAIN);

/** The placeholders that the control plane fills in, in access logs alone. */
const KUMA_PLACEHOLDERS = [
  ...[
    'MESH',
    'ZONE',
    'SOURCE_SERVICE',
    'DESTINATION_SERVICE',
    'SOURCE_ADDRESS_WITHOUT_PORT',
    'SOURCE_ADDRESS',
    'TRAFFIC_DIRECTION',
  ],
] as const;
const PLACEHOLDERS: ReadonlySet<string> = new Set(KUMA_PLACEHOLDERS);

/** An argument is one line. */
const COMMAND = /%([A-Z0-9_]+)(?:\(([^\n]*?)\))?(?::(\d{1,9}))?%/y;

/** Whether Envoy can read a text with commands. */
export function isEnvoyFormat(text: string): boolean {
  for (let at = text.indexOf('%'); at !== -1; at = text.indexOf('%', at)) {
    if (text[at + 1] === '%') {
      at += 2;
      continue;
    }
    COMMAND.lastIndex = at;
    const found = COMMAND.exec(text);
    if (found === null || !isCommand(found[1] ?? '', found[2], found[3])) return false;
    at += found[0].length;
  }
  return true;
}

/** Whether Envoy can read a text for access logs: `%KUMA_MESH%` and its like are filled in before Envoy reads the text. */
export function isLogFormat(text: string): boolean {
  return isEnvoyFormat(text.replace(/%KUMA_([A-Z_]+)%/g, (all, name: string) => (PLACEHOLDERS.has(name) ? '' : all)));
}

function isCommand(name: string, argument: string | undefined, cut: string | undefined): boolean {
  if (cut !== undefined && !CUT.has(name)) return false;
  if (name === 'CEL') return argument !== undefined && isEnvoyCel(argument);
  if (WITHOUT_ARGUMENT.has(name)) return argument === undefined;
  const optional = MAY_HAVE_ARGUMENT.get(name);
  if (optional !== undefined) return argument === undefined || optional.test(argument);
  const wanted = WITH_ARGUMENT.get(name);
  if (wanted === undefined) return false;
  return wanted === null ? true : argument !== undefined && wanted.test(argument);
}
