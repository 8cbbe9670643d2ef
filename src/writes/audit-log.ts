// One line for each write: the caller, the operation, the resource and the time. It never contains bodies. It ignores the log level,
// except `silent`.
import type { FastifyRequest } from 'fastify';
import type { Logger } from '../base/log.ts';
import type { ResourceKey } from '../resource/types.ts';
import type { Callers } from '../http/access.ts';

type AuditedWrite = {
  readonly key: ResourceKey;
  readonly result: 'created' | 'updated' | 'deleted';
  readonly version: number;
};

export class AuditLog {
  readonly #log: Logger;
  readonly #callers: Callers;

  constructor(log: Logger, callers: Callers) {
    this.#log = log.child({ logger: 'audit' }, log.level === 'silent' ? {} : { level: 'info' });
    this.#callers = callers;
  }

  /** Logs that a token was issued. The line contains no part of it. @param path the path of the POST */
  issued(request: FastifyRequest, path: string): void {
    const { name: user, groups } = this.#callers.userOf(request);
    const from = request.socket.remoteAddress ?? '';
    this.#log.info({ user, groups, from, action: 'issued', path, requestId: request.id }, `${user} issued a token by ${path}`);
  }

  /** Logs that another peer was accepted under the name of a known one. @param what a sentence with both ids */
  accepted(request: FastifyRequest, what: string): void {
    const { name: user, groups } = this.#callers.userOf(request);
    const from = request.socket.remoteAddress ?? '';
    this.#log.info({ user, groups, from, action: 'accepted', requestId: request.id }, `${user} accepted ${what}`);
  }

  write(request: FastifyRequest, { key, result, version }: AuditedWrite): void {
    if (!this.#log.isLevelEnabled('info')) return;
    const { name: user, groups } = this.#callers.userOf(request);
    const from = request.socket.remoteAddress ?? '';
    const { type, mesh, name } = key;
    this.#log.info(
      { user, groups, from, action: result, type, mesh, name, version, requestId: request.id },
      `${user} ${result} ${type} ${mesh === '' ? '' : `${mesh}/`}${name}`,
    );
  }
}
