// YAML for the REST API, read and printed by a thread beside the control plane. Invariants: one text at a time, within a time; the queue is
// bounded; the thread exists only while somebody uses YAML.
import { Worker } from 'node:worker_threads';
import type { Clock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import type { Position } from '../document/position.ts';
import { ApiError } from './error-body.ts';
import type { YamlAnswer, YamlField, YamlQuestion } from './yaml-worker.ts';

export const YAML = 'application/yaml';
export const MAX_YAML_BYTES = 256 * 1024;
/** Texts that wait, the one that is read included. */
const MAX_WAITING = 16;
/** Milliseconds for one text, the start of the thread included. */
const MAX_MS = 10_000;
/** Milliseconds without a question after which the thread ends. */
const IDLE_MS = 30_000;

export class Yaml {
  readonly #clock: Clock;
  #worker: Worker | null = null;
  #cancelEnd = (): void => undefined;
  #waiting = 0;
  #last: Promise<unknown> = Promise.resolve();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The documents of a text as JSON. @throws ApiError 400 with line and column, 413, or 503 when too many wait */
  async read(text: string): Promise<readonly string[]> {
    if (Buffer.byteLength(text) > MAX_YAML_BYTES)
      throw new ApiError(
        'too_large',
        'Payload too large',
        `a body in YAML must have at most ${String(MAX_YAML_BYTES)} bytes; send JSON`,
      );
    const answer = await this.#ask({ kind: 'read', text });
    if (answer.kind === 'documents') return answer.documents;
    const { line, column, field, reason } = answer.kind === 'fault' ? answer.fault : { field: '', reason: 'is not YAML' };
    const at = line === undefined ? '' : ` at line ${String(line)}, column ${String(column ?? 1)}`;
    const violation = { field, reason, ...(line !== undefined && { line, column: column ?? 1 }) };
    throw new ApiError('bad_request', 'Bad Request', `the body is not valid YAML${at}: ${reason}`, [violation]);
  }

  /** @throws ApiError 503 when too many wait */
  async print(json: string): Promise<string> {
    const answer = await this.#ask({ kind: 'print', json });
    return answer.kind === 'text' ? answer.text : '';
  }

  /** Where fields stand in a text; none if the thread does not answer. */
  async locate(text: string, fields: readonly YamlField[]): Promise<readonly Position[]> {
    const answer = await this.#ask({ kind: 'locate', text, fields }).catch(() => null);
    return answer?.kind === 'positions' ? answer.positions : [];
  }

  async stop(): Promise<void> {
    this.#cancelEnd();
    await this.#end();
  }

  async #ask(question: YamlQuestion): Promise<YamlAnswer> {
    if (this.#waiting >= MAX_WAITING)
      throw new ApiError('unavailable', 'Service unavailable', 'too many callers send YAML now; try again, or send JSON');
    this.#waiting += 1;
    this.#cancelEnd();
    const answer = this.#last.then(() => this.#answerOf(question));
    this.#last = answer.catch(() => undefined);
    try {
      return await answer;
    } finally {
      this.#waiting -= 1;
      if (this.#waiting === 0) this.#cancelEnd = this.#clock.after(IDLE_MS, () => void this.#end());
    }
  }

  async #answerOf(question: YamlQuestion): Promise<YamlAnswer> {
    const worker = (this.#worker ??= this.#start());
    const { promise, resolve, reject } = Promise.withResolvers<YamlAnswer>();
    const fail = (reason: string): void => {
      void this.#end();
      reject(new ApiError('bad_request', 'Bad Request', `the YAML cannot be read: ${reason}; send JSON`));
    };
    const late = this.#clock.after(MAX_MS, () => fail('it takes too long'));
    const failed = (error: unknown): void => fail(messageOf(error));
    worker.once('message', resolve).once('error', failed);
    worker.postMessage(question);
    return await promise.finally(() => {
      late();
      worker.off('message', resolve).off('error', failed);
    });
  }

  #start(): Worker {
    const worker = new Worker(new URL('./yaml-worker.ts', import.meta.url), { resourceLimits: { maxOldGenerationSizeMb: 256 } });
    worker.unref();
    return worker;
  }

  async #end(): Promise<void> {
    const worker = this.#worker;
    this.#worker = null;
    await worker?.terminate();
  }
}
