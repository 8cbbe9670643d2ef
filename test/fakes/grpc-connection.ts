// gRPC calls on one HTTP/2 connection, with frames that are written and read by hand. Fake peers share the two cores with the server
// that is measured: with a gRPC library a thousand of them cost more than the server does. Frames of one turn of the event loop leave
// in one write. No answer is read of a header, so an end of a call has no status.
import type { Socket } from 'node:net';

export type GrpcCallOptions = {
  readonly path: string;
  /** Names in lower case; a name may come more than once. */
  readonly metadata?: readonly (readonly [name: string, value: string])[];
  readonly onMessage: (message: Buffer) => void;
  /** The server ended the call, or the connection. Not called after `destroy`. */
  readonly onEnd: () => void;
};

export type GrpcCall = {
  readonly write: (message: Buffer) => void;
};

const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
const FRAME = { data: 0, headers: 1, rstStream: 3, settings: 4, ping: 6, goaway: 7, windowUpdate: 8 } as const;
const FLAG = { ack: 1, endStream: 1, endHeaders: 4 } as const;
const HEADER_BYTES = 9;
const PREFIX_BYTES = 5;
const MAX_FRAME_BYTES = 16_384;
const INITIAL_WINDOW = 65_535;
/** The client takes so much without a window update. */
const WINDOW = 2 ** 31 - 1;
const SETTING_INITIAL_WINDOW = 4;
const NO_BYTES = Buffer.alloc(0);
/** What a client says first. */
const WIDE_OPENING = [
  PREFACE,
  frame(FRAME.settings, 0, 0, setting(SETTING_INITIAL_WINDOW, WINDOW)),
  frame(FRAME.windowUpdate, 0, 0, uint32(WINDOW - INITIAL_WINDOW)),
];
const NARROW_OPENING = [PREFACE, frame(FRAME.settings, 0, 0, NO_BYTES)];

type Call = {
  readonly id: number;
  readonly options: GrpcCallOptions;
  readonly unsent: Buffer[];
  window: number;
  /** The message that is being read, and how much of it is there; null between two. */
  message: Buffer | null;
  filled: number;
  /** Bytes of a prefix that was cut by the end of a frame. */
  prefix: Buffer;
};

export class GrpcConnection {
  readonly #socket: Socket;
  readonly #scheme: 'http' | 'https';
  readonly #calls = new Map<number, Call>();
  #nextId = 1;
  #connectionWindow = INITIAL_WINDOW;
  #initialWindow = INITIAL_WINDOW;
  /** Bytes of a frame that has not come as a whole. */
  #rest: Buffer | null = null;
  #isCorked = false;
  #isDestroyed = false;

  /**
   * @param socket that connects, in TLS or in plaintext
   * @param takes `little`: the server may send 64 KB in all, as to a client that reads nothing of its calls
   */
  constructor(socket: Socket, scheme: 'http' | 'https', takes: 'all' | 'little' = 'all') {
    this.#socket = socket;
    this.#scheme = scheme;
    socket.setNoDelay(true);
    for (const bytes of takes === 'all' ? WIDE_OPENING : NARROW_OPENING) this.#send(bytes);
    socket.on('data', (bytes: Buffer) => this.#read(bytes));
    socket.on('error', () => undefined);
    socket.on('close', () => this.#endAll());
  }

  open(options: GrpcCallOptions): GrpcCall {
    const call: Call = {
      ...{ id: this.#nextId, options, unsent: [], window: this.#initialWindow },
      ...{ message: null, filled: 0, prefix: NO_BYTES },
    };
    this.#nextId += 2;
    this.#calls.set(call.id, call);
    this.#send(frame(FRAME.headers, FLAG.endHeaders, call.id, headers(this.#scheme, options)));
    return {
      write: (message) => {
        const framed = Buffer.allocUnsafe(PREFIX_BYTES + message.length);
        framed.writeUInt8(0, 0);
        framed.writeUInt32BE(message.length, 1);
        message.copy(framed, PREFIX_BYTES);
        call.unsent.push(framed);
        this.#flush(call);
      },
    };
  }

  /** A call with one request and one answer; null when it ends without one. */
  ask(options: Pick<GrpcCallOptions, 'path' | 'metadata'>, request: Buffer, answered: (answer: Buffer | null) => void): void {
    let answer: Buffer | null = null;
    this.open({ ...options, onMessage: (message) => (answer = message), onEnd: () => answered(answer) }).write(request);
    this.#send(frame(FRAME.data, FLAG.endStream, this.#nextId - 2, NO_BYTES));
  }

  /** Ends the connection; `onEnd` of its calls is not called. */
  destroy(): void {
    this.#isDestroyed = true;
    this.#calls.clear();
    this.#socket.destroy();
  }

  #endAll(): void {
    if (this.#isDestroyed) return;
    const calls = [...this.#calls.values()];
    this.destroy();
    for (const { options } of calls) options.onEnd();
  }

  #send(bytes: Uint8Array): void {
    if (this.#isDestroyed) return;
    if (!this.#isCorked) {
      this.#isCorked = true;
      this.#socket.cork();
      setImmediate(() => {
        this.#isCorked = false;
        this.#socket.uncork();
      });
    }
    this.#socket.write(bytes);
  }

  /** Sends as much as the windows of the server let. */
  #flush(call: Call): void {
    for (let first = call.unsent[0]; first !== undefined; first = call.unsent[0]) {
      const length = Math.min(first.length, MAX_FRAME_BYTES, this.#connectionWindow, call.window);
      if (length <= 0) break;
      this.#send(frame(FRAME.data, 0, call.id, first.subarray(0, length)));
      this.#connectionWindow -= length;
      call.window -= length;
      if (length === first.length) call.unsent.shift();
      else call.unsent[0] = first.subarray(length);
    }
  }

  #read(bytes: Buffer): void {
    const held = this.#rest === null ? bytes : Buffer.concat([this.#rest, bytes]);
    let at = 0;
    while (held.length - at >= HEADER_BYTES) {
      const length = held.readUIntBE(at, 3);
      const end = at + HEADER_BYTES + length;
      if (end > held.length) break;
      const stream = held.readUInt32BE(at + 5);
      this.#take(held.readUInt8(at + 3), held.readUInt8(at + 4), stream, held.subarray(at + HEADER_BYTES, end));
      at = end;
    }
    this.#rest = at === held.length || this.#isDestroyed ? null : held.subarray(at);
  }

  #take(type: number, flags: number, stream: number, payload: Buffer): void {
    const call = this.#calls.get(stream);
    if (type === FRAME.data && call !== undefined) takeData(call, payload);
    else if (type === FRAME.windowUpdate) this.#takeWindow(call, stream, payload.readUInt32BE(0));
    else if (type === FRAME.settings && flags !== FLAG.ack) this.#takeSettings(payload);
    else if (type === FRAME.ping && flags !== FLAG.ack) this.#send(frame(FRAME.ping, FLAG.ack, 0, payload));
    if (type === FRAME.goaway) this.#endAll();
    const isEnd = (type === FRAME.data || type === FRAME.headers) && (flags & FLAG.endStream) !== 0;
    if ((isEnd || type === FRAME.rstStream) && this.#calls.delete(stream)) call?.options.onEnd();
  }

  #takeWindow(call: Call | undefined, stream: number, bytes: number): void {
    if (stream !== 0) {
      if (call === undefined) return;
      call.window += bytes;
      this.#flush(call);
      return;
    }
    this.#connectionWindow += bytes;
    for (const each of this.#calls.values()) this.#flush(each);
  }

  #takeSettings(payload: Buffer): void {
    for (let at = 0; at < payload.length; at += 6) {
      if (payload.readUInt16BE(at) !== SETTING_INITIAL_WINDOW) continue;
      const window = payload.readUInt32BE(at + 2);
      for (const call of this.#calls.values()) call.window += window - this.#initialWindow;
      this.#initialWindow = window;
    }
    this.#send(frame(FRAME.settings, FLAG.ack, 0, NO_BYTES));
    for (const call of this.#calls.values()) this.#flush(call);
  }
}

function takeData(call: Call, payload: Buffer): void {
  let rest: Buffer = call.prefix.length === 0 ? payload : Buffer.concat([call.prefix, payload]);
  call.prefix = NO_BYTES;
  while (rest.length > 0) {
    if (call.message === null) {
      if (rest.length < PREFIX_BYTES) {
        // A copy: a part would keep all bytes of the read.
        call.prefix = Buffer.from(rest);
        return;
      }
      call.message = Buffer.allocUnsafe(rest.readUInt32BE(1));
      call.filled = 0;
      rest = rest.subarray(PREFIX_BYTES);
    }
    const { message } = call;
    const copied = rest.copy(message, call.filled);
    call.filled += copied;
    rest = rest.subarray(copied);
    if (call.filled < message.length) return;
    call.message = null;
    call.options.onMessage(message);
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

/** HPACK without its dynamic table and without Huffman codes: `POST`, the scheme, then names by their static index where they have one. */
function headers(scheme: 'http' | 'https', { path, metadata = [] }: Pick<GrpcCallOptions, 'path' | 'metadata'>): Buffer {
  return Buffer.concat([
    Buffer.from([0x83, scheme === 'https' ? 0x87 : 0x86, 0x04]),
    text(path),
    Buffer.from([0x01]),
    text('localhost'),
    Buffer.from([0x0f, 0x10]),
    text('application/grpc'),
    ...[['te', 'trailers'] as const, ...metadata].flatMap(([name, value]) => [Buffer.from([0x00]), text(name), text(value)]),
  ]);
}

/** With its length, in seven bits and then in as many bytes as it needs. */
function text(value: string): Buffer {
  const length: number[] = [Math.min(value.length, 0x7f)];
  for (let rest = value.length - 0x7f; rest >= 0; rest >>= 7) {
    length.push(rest < 0x80 ? rest : (rest & 0x7f) | 0x80);
    if (rest < 0x80) break;
  }
  return Buffer.concat([Buffer.from(length), Buffer.from(value, 'latin1')]);
}
