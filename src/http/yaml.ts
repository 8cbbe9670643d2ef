// YAML for the REST API, read and printed in threads beside the control plane.
import type { Position } from '../document/position.ts';
import { ApiError } from './error-body.ts';
import type { CallerWork } from './caller-work.ts';
import type { YamlAnswer, YamlField, YamlQuestion } from './yaml-answers.ts';

export const YAML = 'application/yaml';
export const MAX_YAML_BYTES = 256 * 1024;

/** The threads that know YAML. */
type YamlThreads = {
  /** @throws ApiError 400 for a document that takes too long, 429 or 503 when too many wait */
  readonly ask: (question: YamlQuestion, work: CallerWork) => Promise<YamlAnswer>;
};

export class Yaml {
  readonly #threads: YamlThreads;

  constructor(threads: YamlThreads) {
    this.#threads = threads;
  }

  /** The documents of a text as JSON. @throws ApiError 400 with line and column, 413, 429 or 503 when too many wait */
  async read(text: string, work: CallerWork): Promise<readonly string[]> {
    if (Buffer.byteLength(text) > MAX_YAML_BYTES)
      throw new ApiError(
        'too_large',
        'Payload too large',
        `a body in YAML must have at most ${String(MAX_YAML_BYTES)} bytes; send JSON`,
      );
    const answer = await this.#threads.ask({ kind: 'read', text }, work);
    if (answer.kind === 'documents') return answer.documents;
    const { line, column, field, reason } = answer.kind === 'fault' ? answer.fault : { field: '', reason: 'is not YAML' };
    const at = line === undefined ? '' : ` at line ${String(line)}, column ${String(column ?? 1)}`;
    const violation = { field, reason, ...(line !== undefined && { line, column: column ?? 1 }) };
    throw new ApiError('bad_request', 'Bad Request', `the body is not valid YAML${at}: ${reason}`, [violation]);
  }

  /** @throws ApiError 429 or 503 when too many wait */
  async print(json: string, work: CallerWork): Promise<string> {
    const answer = await this.#threads.ask({ kind: 'print', json }, work);
    return answer.kind === 'text' ? answer.text : '';
  }

  /** The positions of fields in a text; none if the thread does not answer. */
  async locate(text: string, fields: readonly YamlField[], work: CallerWork): Promise<readonly Position[]> {
    const answer = await this.#threads.ask({ kind: 'locate', text, fields }, work).catch(() => null);
    return answer?.kind === 'positions' ? answer.positions : [];
  }
}
