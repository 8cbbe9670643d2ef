// One gRPC stream on a TLS connection of its own, with HTTP/2 frames that are written and read by hand. A fake proxy shares the two
// cores with the server that is measured: with a gRPC library a thousand proxies cost more than the server does.
import { connect, createSecureContext, type TLSSocket } from 'node:tls';

export type GrpcStreamOptions = {
  /** On 127.0.0.1, with any certificate of `localhost`. */
  readonly port: number;
  readonly path: string;
  readonly onMessage: (message: Buffer) => void;
  /** The server ended the stream or the connection, or there is none. */
  readonly onEnd: () => void;
};

const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
const FRAME = { data: 0, headers: 1, rstStream: 3, settings: 4, ping: 6, goaway: 7, windowUpdate: 8 } as const;
const FLAG = { ack: 1, endStream: 1, endHeaders: 4 } as const;
const HEADER_BYTES = 9;
const PREFIX_BYTES = 5;
const STREAM = 1;
const MAX_FRAME_BYTES = 16_384;
const INITIAL_WINDOW = 65_535;
/** The proxy takes so much without a window update. */
const WINDOW = 2 ** 31 - 1;
const SETTING_INITIAL_WINDOW = 4;

/** Shared: the roots of a context are read when it is made. */
const secureContext = createSecureContext();

export class GrpcStream {
  readonly #options: GrpcStreamOptions;
  readonly #socket: TLSSocket;
  readonly #unsent: Buffer[] = [];
  #connectionWindow = INITIAL_WINDOW;
  #streamWindow = INITIAL_WINDOW;
  #initialWindow = INITIAL_WINDOW;
  /** Bytes of a frame that has not come as a whole. */
  #rest: Buffer | null = null;
  /** The message that is being read, and how much of it is there; null between two. */
  #message: Buffer | null = null;
  #filled = 0;
  /** Bytes of a prefix that was cut by the end of a frame. */
  #prefix: Buffer = Buffer.alloc(0);
  #isDestroyed = false;

  constructor(options: GrpcStreamOptions) {
    this.#options = options;
    this.#socket = connect({
      ...{ host: '127.0.0.1', port: options.port, servername: 'localhost' },
      ...{ secureContext, ALPNProtocols: ['h2'], rejectUnauthorized: false },
    });
    this.#socket.setNoDelay(true);
    const windows = [
      frame(FRAME.settings, 0, 0, setting(SETTING_INITIAL_WINDOW, WINDOW)),
      frame(FRAME.windowUpdate, 0, 0, uint32(WINDOW - INITIAL_WINDOW)),
    ];
    this.#socket.write(
      Buffer.concat([PREFACE, ...windows, frame(FRAME.headers, FLAG.endHeaders, STREAM, headers(options.path))]),
    );
    this.#socket.on('data', (bytes: Buffer) => this.#read(bytes));
    this.#socket.on('error', () => undefined);
    this.#socket.on('close', () => this.#end());
  }

  write(message: Buffer): void {
    const framed = Buffer.allocUnsafe(PREFIX_BYTES + message.length);
    framed.writeUInt8(0, 0);
    framed.writeUInt32BE(message.length, 1);
    message.copy(framed, PREFIX_BYTES);
    this.#unsent.push(framed);
    this.#flush();
  }

  /** Ends the connection; `onEnd` is not called. */
  destroy(): void {
    this.#isDestroyed = true;
    this.#socket.destroy();
  }

  #end(): void {
    if (this.#isDestroyed) return;
    this.destroy();
    this.#options.onEnd();
  }

  /** Sends as much as the windows of the server let. */
  #flush(): void {
    const frames: Buffer[] = [];
    for (let first = this.#unsent[0]; first !== undefined; first = this.#unsent[0]) {
      const length = Math.min(first.length, MAX_FRAME_BYTES, this.#connectionWindow, this.#streamWindow);
      if (length <= 0) break;
      frames.push(frame(FRAME.data, 0, STREAM, first.subarray(0, length)));
      this.#connectionWindow -= length;
      this.#streamWindow -= length;
      if (length === first.length) this.#unsent.shift();
      else this.#unsent[0] = first.subarray(length);
    }
    if (frames.length > 0) this.#socket.write(Buffer.concat(frames));
  }

  #read(bytes: Buffer): void {
    const held = this.#rest === null ? bytes : Buffer.concat([this.#rest, bytes]);
    let at = 0;
    while (held.length - at >= HEADER_BYTES) {
      const length = held.readUIntBE(at, 3);
      const end = at + HEADER_BYTES + length;
      if (end > held.length) break;
      this.#take(
        held.readUInt8(at + 3),
        held.readUInt8(at + 4),
        held.readUInt32BE(at + 5),
        held.subarray(at + HEADER_BYTES, end),
      );
      at = end;
    }
    this.#rest = at === held.length ? null : held.subarray(at);
  }

  #take(type: number, flags: number, stream: number, payload: Buffer): void {
    if (type === FRAME.data) this.#takeData(payload);
    else if (type === FRAME.windowUpdate) {
      if (stream === 0) this.#connectionWindow += payload.readUInt32BE(0);
      else this.#streamWindow += payload.readUInt32BE(0);
      this.#flush();
    } else if (type === FRAME.settings && flags !== FLAG.ack) this.#takeSettings(payload);
    else if (type === FRAME.ping && flags !== FLAG.ack) this.#socket.write(frame(FRAME.ping, FLAG.ack, 0, payload));
    const isEnd = (type === FRAME.data || type === FRAME.headers) && (flags & FLAG.endStream) !== 0;
    if (isEnd || type === FRAME.rstStream || type === FRAME.goaway) this.#end();
  }

  #takeSettings(payload: Buffer): void {
    for (let at = 0; at < payload.length; at += 6) {
      if (payload.readUInt16BE(at) !== SETTING_INITIAL_WINDOW) continue;
      const window = payload.readUInt32BE(at + 2);
      this.#streamWindow += window - this.#initialWindow;
      this.#initialWindow = window;
    }
    this.#socket.write(frame(FRAME.settings, FLAG.ack, 0, Buffer.alloc(0)));
    this.#flush();
  }

  #takeData(payload: Buffer): void {
    let rest: Buffer = this.#prefix.length === 0 ? payload : Buffer.concat([this.#prefix, payload]);
    this.#prefix = rest.subarray(0, 0);
    while (rest.length > 0) {
      if (this.#message === null) {
        if (rest.length < PREFIX_BYTES) {
          this.#prefix = rest;
          return;
        }
        this.#message = Buffer.allocUnsafe(rest.readUInt32BE(1));
        this.#filled = 0;
        rest = rest.subarray(PREFIX_BYTES);
      }
      const message = this.#message;
      const copied = rest.copy(message, this.#filled);
      this.#filled += copied;
      rest = rest.subarray(copied);
      if (this.#filled < message.length) return;
      this.#message = null;
      this.#options.onMessage(message);
    }
  }
}

function frame(type: number, flags: number, stream: number, payload: Uint8Array): Buffer {
  const bytes = Buffer.allocUnsafe(HEADER_BYTES + payload.length);
  bytes.writeUIntBE(payload.length, 0, 3);
  bytes.writeUInt8(type, 3);
  bytes.writeUInt8(flags, 4);
  bytes.writeUInt32BE(stream, 5);
  bytes.set(payload, HEADER_BYTES);
  return bytes;
}

function setting(id: number, value: number): Buffer {
  const bytes = Buffer.alloc(6);
  bytes.writeUInt16BE(id, 0);
  bytes.writeUInt32BE(value, 2);
  return bytes;
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** HPACK without its dynamic table and without Huffman codes: `POST`, `https`, then names by their static index where they have one. */
function headers(path: string): Buffer {
  const text = (value: string): Buffer => Buffer.concat([Buffer.from([value.length]), Buffer.from(value, 'latin1')]);
  return Buffer.concat([
    Buffer.from([0x83, 0x87, 0x04]),
    text(path),
    Buffer.from([0x01]),
    text('localhost'),
    Buffer.from([0x0f, 0x10]),
    text('application/grpc'),
    Buffer.from([0x00]),
    text('te'),
    text('trailers'),
  ]);
}
