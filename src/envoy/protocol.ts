// The protocol of a port.

export type Protocol = 'tcp' | 'http' | 'http2' | 'grpc';

/** The protocol of a port; an unknown one is TCP. */
export function protocolOf(text: string): Protocol {
  return text === 'http' || text === 'http2' || text === 'grpc' ? text : 'tcp';
}

/** Whether a proxy reads requests of this protocol, and not bytes alone. */
export function isHttp(protocol: Protocol): boolean {
  return protocol !== 'tcp';
}
