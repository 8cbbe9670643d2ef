import { describe, expect, it } from 'vitest';
import { MeridianError } from '../../base/errors.ts';
import { typeOf } from '../../resource/type-registry.ts';
import type { JsonObject } from '../../resource/types.ts';
import type { Item } from './api-client.ts';
import { addRevocation } from './revocations.ts';

const list = { info: typeOf('GlobalSecret'), mesh: '', name: 'zone-token-revocations' };

const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** A control plane with the list. @param others what another writer stores before each PUT */
class Secrets {
  text: string | null;
  /** If it is false, `If-None-Match` has no effect. */
  hasConditions = true;
  #version = 1;
  readonly #others: string[];

  constructor(text: string | null, others: string[] = []) {
    this.text = text;
    this.#others = others;
  }

  getTagged = async (): Promise<{ item: Item; etag: string } | undefined> =>
    this.text === null
      ? undefined
      : { item: { type: 'GlobalSecret', name: list.name, data: base64(this.text) }, etag: String(this.#version) };

  put = async (
    _info: unknown,
    _mesh: string,
    _name: string,
    body: JsonObject,
    { ifMatch, isNew = false }: { ifMatch?: string | undefined; isNew?: boolean } = {},
  ) => {
    const other = this.#others.shift();
    if (other !== undefined) [this.text, this.#version] = [other, this.#version + 1];
    if (ifMatch !== undefined && ifMatch !== String(this.#version)) throw new MeridianError('conflict', 'another version');
    if (isNew && this.text !== null && this.hasConditions) throw new MeridianError('conflict', 'it exists');
    this.text = Buffer.from(String(body['data']), 'base64').toString();
    return { created: true, warnings: [] };
  };
}

describe('a revocation', () => {
  it('makes the list, and adds to it', async () => {
    const secrets = new Secrets(null);
    expect(await addRevocation(secrets, list, 'a')).toBe(true);
    expect(await addRevocation(secrets, list, 'b')).toBe(true);
    expect(secrets.text).toBe('a,b');
  });

  it('writes nothing for an id that is in the list', async () => {
    const secrets = new Secrets(' a , b\n', ['never stored']);
    expect(await addRevocation(secrets, list, 'b')).toBe(false);
    expect(secrets.text).toBe(' a , b\n');
  });

  it('keeps the id that another writer adds at the same time', async () => {
    const secrets = new Secrets('a', ['a,other']);
    expect(await addRevocation(secrets, list, 'mine')).toBe(true);
    expect(secrets.text).toBe('a,other,mine');
  });

  it('keeps the ids of others that make the list at the same time', async () => {
    const secrets = new Secrets(null, ['one', 'one,two']);
    expect(await addRevocation(secrets, list, 'mine')).toBe(true);
    expect(secrets.text).toBe('one,two,mine');
  });

  it('is written again where another writer has replaced the list', async () => {
    const secrets = new Secrets(null);
    secrets.hasConditions = false;
    const { put } = secrets;
    let isFirst = true;
    secrets.put = async (...given) => {
      const answer = await put(...given);
      if (isFirst) secrets.text = 'other';
      isFirst = false;
      return answer;
    };
    expect(await addRevocation(secrets, list, 'mine')).toBe(true);
    expect(secrets.text).toBe('other,mine');
  });

  it('ends with the conflict if others are faster each time', async () => {
    const secrets = new Secrets('a', ['1', '2', '3', '4', '5']);
    await expect(addRevocation(secrets, list, 'mine')).rejects.toMatchObject({ code: 'conflict' });
    expect(secrets.text).toBe('5');
  });
});
