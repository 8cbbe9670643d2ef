import { describe, expect, it } from 'vitest';
import { appProtocolOf, PROTOCOL_ANNOTATION, withAnnotatedProtocol } from './app-protocol.ts';

describe('appProtocolOf', () => {
  it.each([
    ['http2', 'grpc', 'http2'],
    ['tcp', 'http', 'tcp'],
    [undefined, 'grpc', 'grpc'],
    ['', 'kubernetes.io/h2c', 'http2'],
    ['HTTP', undefined, 'http'],
    [undefined, 'gRPC', 'grpc'],
    [undefined, undefined, null],
    ['sctp', 'http', { unsupported: 'sctp' }],
    [undefined, 'constructor', { unsupported: 'constructor' }],
  ])('of appProtocol %j and annotation %j is %j', (appProtocol, annotation, expected) => {
    const port = { port: 80, appProtocol };
    const annotations = annotation === undefined ? undefined : { [PROTOCOL_ANNOTATION]: annotation };
    expect(appProtocolOf({ kind: 'MeshService', name: 'a', ports: [port], annotations }, port)).toEqual(expected);
  });
});

describe('withAnnotatedProtocol', () => {
  const spec = { ports: [{ port: 80 }, { port: 81, appProtocol: 'grpc' }, { port: 82, appProtocol: null }] };

  it.each([
    [
      'HTTP',
      [
        { port: 80, appProtocol: 'http' },
        { port: 81, appProtocol: 'grpc' },
        { port: 82, appProtocol: 'http' },
      ],
    ],
    ['sctp', spec.ports],
  ])('of a MeshService with annotation %s', (annotation, ports) => {
    expect(withAnnotatedProtocol({ [PROTOCOL_ANNOTATION]: annotation }, spec)).toEqual({ ports });
    expect(withAnnotatedProtocol({}, spec)).toBe(spec);
  });
});
