import { describe, expect, it } from 'vitest';
import { MeridianError } from '../../base/errors.ts';
import type { JsonObject } from '../../resource/types.ts';
import type { Answer } from '../../answers/answers.ts';
import { ApiClient, type Index } from '../client/api-client.ts';
import { planApply, sendPlan, type Applied } from './apply-requests.ts';
import { parseDocuments } from './read-files.ts';
import { failedAnswer } from '../client/failed-answer.ts';

/** A control plane that takes documents, remembers what it was sent, and refuses those named `bad`. */
class Receiver extends ApiClient {
  readonly requests: JsonObject[][] = [];
  readonly #about: Omit<Index, 'version'>;

  constructor(about: Omit<Index, 'version'> = { product: 'Meridian', mode: 'global' }) {
    super('http://127.0.0.1:1');
    this.#about = about;
  }

  override async index(): Promise<Index> {
    return { ...this.#about, version: '0' };
  }

  override async applyAll(text: string): Promise<Answer<'Applied'>['items']> {
    const documents = JSON.parse(text) as JsonObject[];
    const at = documents.findIndex(({ name }) => name === 'bad');
    if (at >= 0)
      throw new MeridianError('invalid', 'Could not process a resource', {
        violations: [{ field: `documents[${String(at)}].spec.to[0].default`, reason: 'must be better' }],
      });
    this.requests.push(documents);
    return documents.map(({ type, name }) => ({ type: String(type), name: String(name), result: 'created', version: 0 }));
  }

  override async put(): Promise<{ created: boolean; warnings: string[] }> {
    return { created: true, warnings: ['old'] };
  }
}

function documentsOf(...names: string[]): ReturnType<typeof parseDocuments> {
  const timeout = (name: string): string => `type: MeshTimeout\nname: ${name}\nmesh: shop\nspec:\n  to:\n    - default: {}\n`;
  return parseDocuments(
    [{ name: 'all.yaml', text: ['type: Mesh\nname: shop\n', ...names.map(timeout)].join('---\n') }],
    'default',
  );
}

async function send(
  client: ApiClient,
  limits?: { whole: number; part: number },
  dryRun = false,
  ...names: string[]
): Promise<Applied[]> {
  const all: Applied[] = [];
  const plan = await planApply(client, documentsOf(...names), limits);
  for await (const part of sendPlan(client, plan, { dryRun })) all.push(...part);
  return all;
}

describe('documents', () => {
  it('are sent in one transaction when they fit', async () => {
    const client = new Receiver();
    expect(await send(client, undefined, false, 'a', 'b')).toHaveLength(3);
    expect(client.requests).toHaveLength(1);
  });

  it('are sent in order in parts of bounded size when they do not fit in one transaction', async () => {
    const client = new Receiver();
    const names = Array.from({ length: 20 }, (_, index) => `t${String(index)}`);
    const applied = await send(client, { whole: 500, part: 300 }, false, ...names);
    expect(applied.map(({ document }) => document.name)).toEqual(['shop', ...names]);
    expect(client.requests.length).toBeGreaterThan(3);
    for (const request of client.requests) expect(JSON.stringify(request).length).toBeLessThanOrEqual(302);
    const plan = await planApply(client, documentsOf(...names), { whole: 500, part: 300 });
    expect(plan.isOneTransaction).toBe(false);
  });

  it('are sent with their Meshes in each request of a dry run, and each is reported once', async () => {
    const client = new Receiver();
    const applied = await send(client, { whole: 200, part: 150 }, true, 'a', 'b', 'c');
    expect(applied.map(({ document }) => document.name)).toEqual(['shop', 'a', 'b', 'c']);
    for (const request of client.requests) expect(request[0]?.['name']).toBe('shop');
  });

  it('are named by file, line and column when they are refused', async () => {
    await expect(send(new Receiver(), undefined, false, 'a', 'bad')).rejects.toThrow(
      'all.yaml:16:7: spec.to[0].default: must be better',
    );
  });

  it('are named with the position of the other document when two conflict', async () => {
    const client = new Receiver();
    const violation = { field: 'documents[2]', reason: 'is the same resource as documents[1]', related: 'documents[1]' };
    client.applyAll = async () =>
      Promise.reject(failedAnswer(400, { title: 'No', invalid_parameters: [violation] }, '', { isKnown: true }));
    await expect(send(client, undefined, false, 'a', 'a2')).rejects.toThrow(
      'No:\n  all.yaml:11: is the same resource as all.yaml:4',
    );
  });

  it('are named by position when their mesh is missing, from a field of the answer and not from its text', async () => {
    const answer = { status: 404, title: 'Failed to retrieve Mesh', detail: 'no', missing: { type: 'Mesh', name: 'shop' } };
    const client = new Receiver();
    client.applyAll = async () => Promise.reject(failedAnswer(404, answer, '', { isKnown: true }));
    await expect(send(client, undefined, false, 'a')).rejects.toMatchObject({
      code: 'not_found',
      message: 'there is no mesh "shop"; give its Mesh in the same call. It is referenced at\n  all.yaml:6:1: mesh',
    });
    const prose = { ...answer, detail: 'mesh "shop" does not exist', missing: undefined };
    client.applyAll = async () => Promise.reject(failedAnswer(404, prose, '', { isKnown: true }));
    await expect(send(client, undefined, false, 'a')).rejects.toThrow('Failed to retrieve Mesh: mesh "shop" does not exist');
  });

  it('are sent one by one to a control plane without transactions, and a dry run is refused there', async () => {
    const client = new Receiver({ product: 'Kuma', mode: 'global' });
    expect((await send(client, undefined, false, 'a')).map(({ messages }) => messages)).toEqual([['old'], ['old']]);
    await expect(send(client, undefined, true, 'a')).rejects.toThrow('no dry run');
  });

  it('get the origin `zone` for a zone when it is missing, with a message (D6)', async () => {
    const client = new Receiver({ product: 'Meridian', mode: 'zone' });
    const [mesh, timeout] = await send(client, undefined, false, 'a');
    expect(mesh?.messages).toEqual([]);
    expect(timeout?.messages).toEqual(['label kuma.io/origin: zone was added']);
    expect(client.requests[0]?.[1]?.['labels']).toEqual({ 'kuma.io/origin': 'zone' });
  });
});
