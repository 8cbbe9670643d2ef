// Responses to proxies are written to TLS in chunks. TLS of Node encrypts each write into one buffer, and keeps for a connection the
// largest that it ever needed: a first response of 700 kB would cost each proxy 700 kB for as long as it is connected. The chunks are
// cut from the message that all proxies share: gRPC would copy it for each of them.
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import type { MethodDefinition } from '@grpc/grpc-js';
import { adsService } from './grpc-services.ts';

/** Of what TLS gets at once. With more, OpenSSL writes two records, and TLS of Node makes room for twice as much for ever. */
const TLS_WRITE_BYTES = 16_384;
/** The head of the response goes with the first chunk: HTTP/2 writes all frames that wait together. It has 104 bytes. */
const OTHER_FRAMES_BYTES = 256;
/** Bytes of one write. It has the head of an HTTP/2 frame (9), and TLS adds 22: a record then fits into a buffer of 16 kB. */
export const CHUNK_BYTES = TLS_WRITE_BYTES - 9 - 22 - OTHER_FRAMES_BYTES;
/** Before each message of gRPC: a flag and the length. */
const PREFIX_BYTES = 5;
const { path: PATH } = adsService.deltaAggregatedResources;

type Write = (chunk: Uint8Array, encoding: BufferEncoding, callback: Callback) => void;
type Callback = (error?: Error | null) => void;

/** Node tells here of each stream that a server takes. The gRPC library does not give its streams away. */
export const STREAMS = 'http2.server.stream.created';
/** Messages that are written behind their prefix, by the prefix. */
const uncopied = new WeakMap<Uint8Array, Buffer>();

/**
 * Writes the streams of proxies in chunks from now on.
 * @param most bytes of a message; gRPC refuses a longer one
 * @returns the method to serve
 */
export function chunkStreams(most: number): MethodDefinition<Buffer, Buffer> {
  unsubscribe(STREAMS, writeInChunks);
  subscribe(STREAMS, writeInChunks);
  return { ...adsService.deltaAggregatedResources, responseSerialize: (message) => withoutCopy(message, most) };
}

/** Takes a message of the channel. */
export function writeInChunks(message: unknown): void {
  const { stream, headers } = message as { readonly stream: ServerHttp2Stream; readonly headers: IncomingHttpHeaders };
  if (headers[':path'] !== PATH) return;
  const write = stream._write.bind(stream);
  // Without `_writev` messages that wait are written one by one.
  Object.assign(stream, { _write: chunked(write), _writev: null });
}

/**
 * A message as gRPC serializes it for a stream that is written in chunks. gRPC takes the length of it, makes a buffer of that length with a
 * prefix, and lets the message copy itself behind the prefix: a large one copies nothing, and is written after the prefix.
 * @param most bytes of a message that is taken
 */
export function withoutCopy(message: Buffer, most: number): Buffer {
  if (message.length + PREFIX_BYTES <= CHUNK_BYTES || message.length > most) return message;
  const copy = (prefix: Buffer): number => {
    prefix.writeUInt32BE(message.length, 1);
    uncopied.set(prefix, message);
    return 0;
  };
  return { byteLength: 0, copy } as unknown as Buffer;
}

/** A write that passes its bytes on in chunks, each when the one before it has left. */
export function chunked(write: Write): Write {
  return (bytes, encoding, callback) => {
    const message = uncopied.get(bytes) ?? bytes;
    const prefix = message === bytes ? null : bytes;
    if (prefix === null && bytes.length <= CHUNK_BYTES) return write(bytes, encoding, callback);
    let at = prefix === null ? 0 : CHUNK_BYTES - PREFIX_BYTES;
    const next: Callback = (error) => {
      if (error !== undefined && error !== null) return callback(error);
      const part = message.subarray(at, at + CHUNK_BYTES);
      at += CHUNK_BYTES;
      write(part, encoding, at < message.length ? next : callback);
    };
    if (prefix === null) next();
    else write(Buffer.concat([prefix, message.subarray(0, at)]), encoding, next);
  };
}
