// Responses to proxies are written to TLS in chunks. TLS of Node encrypts each write into one buffer, and keeps for a connection the
// largest that it ever needed: a first response of 700 kB would cost each proxy 700 kB for as long as it is connected. The chunks are
// cut from the parts of the message, which proxies share: gRPC would copy them for each proxy.
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import type { MethodDefinition } from '@grpc/grpc-js';
import { adsService, partsOf, type SentMessage } from './grpc-services.ts';

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
/** Node announces its streams. One that does not would lose what is only written in chunks. */
let isAnnounced = false;
/** Messages that are written behind their prefix, in parts, by the prefix. */
const uncopied = new WeakMap<Uint8Array, readonly Buffer[]>();

/**
 * Writes the streams of proxies in chunks from now on.
 * @param most bytes of a message; gRPC refuses a longer one
 * @returns the method to serve
 */
export function chunkStreams(most: number): MethodDefinition<Buffer, SentMessage> {
  unsubscribe(STREAMS, writeInChunks);
  subscribe(STREAMS, writeInChunks);
  return { ...adsService.deltaAggregatedResources, responseSerialize: (message) => withoutCopy(message, most) };
}

/** Takes a message of the channel. */
export function writeInChunks(message: unknown): void {
  const { stream, headers } = message as { readonly stream: ServerHttp2Stream; readonly headers: IncomingHttpHeaders };
  if (headers[':path'] !== PATH) return;
  isAnnounced = true;
  const write = stream._write.bind(stream);
  // Without `_writev` messages that wait are written one by one.
  Object.assign(stream, { _write: chunked(write), _writev: null });
}

/**
 * A message as gRPC serializes it for a stream that is written in chunks. gRPC takes the length of it, makes a buffer of that length with a
 * prefix, and lets the message copy itself behind the prefix: a large one copies nothing, and is written after the prefix. Before a stream was
 * announced each message is a copy.
 * @param most bytes of a message that is taken
 */
export function withoutCopy(message: SentMessage, most: number): Buffer {
  const parts = partsOf(message);
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  if (length > most || !isAnnounced) return Buffer.concat(parts);
  const isSmall = length + PREFIX_BYTES <= CHUNK_BYTES;
  const copy = (target: Buffer, at: number): number => {
    if (isSmall) return parts.reduce((to, part) => to + part.copy(target, to), at) - at;
    target.writeUInt32BE(length, 1);
    uncopied.set(target, parts);
    return 0;
  };
  return { byteLength: isSmall ? length : 0, copy } as unknown as Buffer;
}

/** A write that passes its bytes on in chunks, each when the one before it has left. */
export function chunked(write: Write): Write {
  return (bytes, encoding, callback) => {
    const message = uncopied.get(bytes);
    if (message === undefined && bytes.length <= CHUNK_BYTES) return write(bytes, encoding, callback);
    const chunks = chunksOf([bytes, ...(message ?? [])]);
    let chunk = chunks.next();
    const next: Callback = (error) => {
      if ((error ?? null) !== null) return callback(error);
      if (chunk.done === true) return callback();
      const { value } = chunk;
      chunk = chunks.next();
      write(value, encoding, chunk.done === true ? callback : next);
    };
    next();
  };
}

/** Bytes over the border of two parts are copied, and no others. */
function* chunksOf(parts: readonly Uint8Array[]): Generator<Uint8Array, void> {
  let pieces: Uint8Array[] = [];
  let room = CHUNK_BYTES;
  for (const part of parts)
    for (let at = 0; at < part.length;) {
      const piece = part.subarray(at, at + room);
      pieces.push(piece);
      at += piece.length;
      room -= piece.length;
      if (room > 0) continue;
      yield joined(pieces);
      pieces = [];
      room = CHUNK_BYTES;
    }
  if (pieces.length > 0) yield joined(pieces);
}

function joined(pieces: readonly Uint8Array[]): Uint8Array {
  const [only] = pieces;
  return only !== undefined && pieces.length === 1 ? only : Buffer.concat(pieces);
}
