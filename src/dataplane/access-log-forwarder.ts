// Forwards access logs to TCP addresses. Envoy writes files alone: it writes lines that name an address into a pipe of the work folder,
// and this program sends each message there (xds 3.3). Invariant: a receiver that is slow or away costs lines, and no memory.
import { rm } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { isObject, textOf } from '../resource/read-json.ts';
import { makeNamedPipe } from './named-pipe.ts';
import { readLines } from './read-lines.ts';

type Context = { readonly clock: Clock; readonly log: Logger };
/** @property retryAt on the clock: no new connection before it */
type Receiver = { socket: Socket | null; retryAt: number };

/** A policy names few receivers. */
const MAX_RECEIVERS = 100;
/** Bytes that wait for one receiver. */
const MAX_WAITING = 1024 * 1024;
const RETRY_MS = 1_000;

class AccessLogForwarder {
  readonly #context: Context;
  readonly #receivers = new Map<string, Receiver>();

  constructor(context: Context) {
    this.#context = context;
  }

  /** One line of the pipe: `{"address":"HOST:PORT","message":…}`, with a text that ends its line or an object. */
  take(line: string): void {
    let given: unknown;
    try {
      given = JSON.parse(line);
    } catch {
      return;
    }
    if (!isObject(given)) return;
    const { message } = given;
    const text = typeof message === 'string' ? message : `${JSON.stringify(message ?? {})}\n`;
    const socket = this.#socketOf(textOf(given['address']));
    if (socket !== null && socket.writableLength < MAX_WAITING) socket.write(text);
  }

  close(): void {
    for (const { socket } of this.#receivers.values()) socket?.destroySoon();
  }

  #socketOf(address: string): Socket | null {
    const { clock, log } = this.#context;
    const known = this.#receivers.get(address);
    if (known?.socket !== null && known !== undefined) return known.socket;
    const [, host = '', port = ''] = /^\[?(.+?)\]?:(\d{1,5})$/.exec(address) ?? [];
    if (host === '' || Number(port) > 65_535) return null;
    if (known === undefined && this.#receivers.size >= MAX_RECEIVERS) return null;
    if (known !== undefined && clock.elapsed() < known.retryAt) return null;
    const socket = connect(Number(port), host);
    const receiver: Receiver = { socket, retryAt: clock.elapsed() + RETRY_MS };
    this.#receivers.set(address, receiver);
    let reason = 'it closed the connection';
    socket.on('error', (error) => (reason = messageOf(error)));
    socket.once('close', () => {
      receiver.socket = null;
      log.warn({ address, reason }, 'access logs are lost until their receiver takes a connection');
    });
    // It says nothing, and its end must be seen.
    socket.resume();
    return socket;
  }
}

/** The pipe of a proxy in its work folder, as control planes name it. */
export function accessLogPipeIn(folder: string, { mesh, name }: { readonly mesh: string; readonly name: string }): string {
  return join(folder, `kuma-al-${name}-${mesh}.sock`);
}

/**
 * Forwards what comes through the pipe until `close`, which removes it. Null where no pipe can be made: then the proxy does not have the
 * feature, and control planes send it no such access logs.
 */
export async function forwardAccessLogs(path: string, context: Context): Promise<{ readonly close: () => Promise<void> } | null> {
  // The writing end stays open here: an Envoy that is started again writes into the same pipe.
  const pipe = await makeNamedPipe(path);
  if (pipe === null) {
    context.log.warn({ pipe: path }, 'no pipe can be made there: access logs to TCP addresses are left out');
    return null;
  }
  const forwarder = new AccessLogForwarder(context);
  readLines(pipe.reader, (line) => forwarder.take(line));
  return {
    close: async () => {
      pipe.closeWriter();
      pipe.reader.destroy();
      forwarder.close();
      await rm(path, { force: true });
    },
  };
}
