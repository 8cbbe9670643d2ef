// Responses to proxies are written to TLS in chunks. TLS of Node encrypts each write into one buffer, and keeps for a connection the
// largest that it ever needed: a first response of 700 kB would cost each proxy 700 kB for as long as it is connected.
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import { adsService } from './grpc-services.ts';

/** Bytes of one write: the content of one TLS record and of one HTTP/2 frame. */
export const CHUNK_BYTES = 16_384;

type Write = (chunk: Uint8Array, encoding: BufferEncoding, callback: Callback) => void;
type Callback = (error?: Error | null) => void;

/** Node tells here of each stream that a server takes. The gRPC library does not give its streams away. */
export const STREAMS = 'http2.server.stream.created';
const PATH = adsService.deltaAggregatedResources.path;

/** Writes the streams of proxies in chunks from now on. Any number of calls are as one. */
export function chunkStreams(): void {
  unsubscribe(STREAMS, writeInChunks);
  subscribe(STREAMS, writeInChunks);
}

/** Takes a message of the channel. */
export function writeInChunks(message: unknown): void {
  const { stream, headers } = message as { readonly stream: ServerHttp2Stream; readonly headers: IncomingHttpHeaders };
  if (headers[':path'] !== PATH) return;
  const write = stream._write.bind(stream);
  // Without `_writev` messages that wait are written one by one.
  Object.assign(stream, { _write: chunked(write), _writev: null });
}

/** A write that passes its bytes on in chunks, each when the one before it has left. */
export function chunked(write: Write): Write {
  return (bytes, encoding, callback) => {
    if (bytes.length <= CHUNK_BYTES) return write(bytes, encoding, callback);
    let at = 0;
    const next: Callback = (error) => {
      if (error !== undefined && error !== null) return callback(error);
      const part = bytes.subarray(at, at + CHUNK_BYTES);
      at += CHUNK_BYTES;
      write(part, encoding, at < bytes.length ? next : callback);
    };
    next();
  };
}
