// Combines single reads. Each key of a statement is read once.
import { keyText, type ResourceKey } from '../resource/types.ts';
import { CallBatcher } from './call-batcher.ts';

/** Reads rows, or the requested columns of them. */
export class ReadBatcher<Row extends ResourceKey> {
  readonly #calls: CallBatcher<ResourceKey, Row | undefined>;

  constructor(read: (keys: readonly ResourceKey[]) => Promise<Row[]>) {
    this.#calls = new CallBatcher(async (asked) => {
      const keys = new Map(asked.map((key) => [keyText(key), key]));
      const rows = new Map((await read([...keys.values()])).map((row) => [keyText(row), row]));
      return asked.map((key) => rows.get(keyText(key)));
    });
  }

  async get(key: ResourceKey): Promise<Row | undefined> {
    return await this.#calls.call(key);
  }
}
