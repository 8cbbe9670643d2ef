// One line a write: who did what to which resource, and when. Bodies are never in it.
import type { FastifyRequest } from 'fastify';
import type { Logger } from '../base/log.ts';
import type { ResourceKey } from '../resource/types.ts';
import type { Callers } from './access.ts';

export type AuditedWrite = {
  readonly key: ResourceKey;
  readonly result: 'created' | 'updated' | 'deleted';
  readonly version: number;
};

export class AuditLog {
  readonly #log: Logger;
  readonly #callers: Callers;

  constructor(log: Logger, callers: Callers) {
    this.#log = log.child({ logger: 'audit' });
    this.#callers = callers;
  }

  write(request: FastifyRequest, { key, result, version }: AuditedWrite): void {
    const { name: user, groups } = this.#callers.userOf(request);
    const from = request.socket.remoteAddress ?? '';
    const { type, mesh, name } = key;
    this.#log.info(
      { user, groups, from, action: result, type, mesh, name, version, requestId: request.id },
      `${user} ${result} ${type} ${mesh === '' ? '' : `${mesh}/`}${name}`,
    );
  }
}
