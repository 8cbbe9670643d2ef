import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { typeOf } from '../../resource/type-registry.ts';
import { ApiClient } from './api-client.ts';

/** Rows of the list that the server has; every fifth is of team a. */
const ROWS = Array.from({ length: 2_500 }, (_, index) => ({
  type: 'MeshTimeout',
  mesh: 'shop',
  name: `row-${String(index)}`,
  labels: { team: index % 5 === 0 ? 'a' : 'b' },
}));
const asked: string[] = [];
/** The rows of the server, and their change at each request. */
let rows = ROWS;
let meanwhile: () => void = () => undefined;
let server: Server;
let client: ApiClient;

beforeAll(async () => {
  server = createServer((request, response) => {
    const query = new URL(request.url ?? '', 'http://localhost').searchParams;
    const [size, offset] = [Number(query.get('size')), Number(query.get('offset'))];
    asked.push(`${String(offset)}+${String(size)}`);
    const next = offset + size < rows.length ? 'more' : null;
    response.end(JSON.stringify({ total: rows.length, items: rows.slice(offset, offset + size), next }));
    meanwhile();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  client = new ApiClient(`http://127.0.0.1:${String((server.address() as AddressInfo).port)}`);
});

afterAll(() => new Promise((resolve) => server.close(resolve)));

describe('a list', () => {
  it('is read page after page', async () => {
    asked.length = 0;
    expect(await client.pages('/meshtimeouts')).toEqual(ROWS);
    expect(asked).toEqual(['0+1000', '999+1000', '1998+1000']);
  });

  it('requests a page only when the reader needs it', async () => {
    asked.length = 0;
    const wanted: number[] = [];
    for await (const page of client.eachPage('/meshtimeouts')) {
      expect(page.length).toBeGreaterThan(0);
      wanted.push(asked.length);
    }
    expect(wanted).toEqual([1, 2, 3]);
  });

  it.each([
    ['go', (all: typeof ROWS) => all.slice(40)],
    [
      'come',
      (all: typeof ROWS) => [
        ...ROWS.slice(0, 3).map((row, n) => ({ ...row, name: `new-${String(all.length)}-${String(n)}` })),
        ...all,
      ],
    ],
  ])('returns every lasting row once, although other rows %s between pages', async (_, change) => {
    rows = ROWS;
    meanwhile = () => (rows = change(rows));
    try {
      const names = (await client.pages('/meshtimeouts')).map(({ name }) => name);
      expect(new Set(names).size).toBe(names.length);
      expect(rows.length).toBeGreaterThan(2_000);
      for (const { name } of ROWS.filter((row) => rows.includes(row))) expect(names).toContain(name);
    } finally {
      [rows, meanwhile] = [ROWS, () => undefined];
    }
  });

  it('continues after the last row of the server, not after the last row that was kept', async () => {
    asked.length = 0;
    const kept = await client.pages('/meshtimeouts', {}, ({ labels }) => labels?.['team'] === 'a');
    expect(kept.map(({ name }) => name)).toEqual(ROWS.flatMap(({ name }, index) => (index % 5 === 0 ? [name] : [])));
    expect(asked).toEqual(['0+1000', '999+1000', '1998+1000']);
  });
});

describe('an answer that no control plane gives', () => {
  async function answering(respond: (response: ServerResponse) => void, use: (of: ApiClient) => Promise<void>): Promise<void> {
    const other = createServer((_, response) => respond(response));
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    try {
      await use(new ApiClient(`http://127.0.0.1:${String((other.address() as AddressInfo).port)}`));
    } finally {
      await new Promise((resolve) => other.close(resolve));
    }
  }
  const timeout = typeOf('MeshTimeout');
  const refusal = 'the server at this address is not a control plane';

  it('is an error, not an empty answer', async () => {
    const page = (response: ServerResponse): void => void response.setHeader('content-type', 'text/html').end('<html></html>');
    await answering(page, async (of) => {
      await expect(of.index()).rejects.toThrow(refusal);
      await expect(of.put(timeout, 'shop', 'slow', {})).rejects.toThrow(refusal);
      await expect(of.delete(timeout, 'shop', 'slow')).rejects.toThrow(refusal);
      await expect(of.stream('/_history', 'application/x-ndjson', new AbortController().signal)).rejects.toThrow(refusal);
    });
  });

  it('may be empty after a write', async () => {
    await answering(
      (response) => void response.end(),
      async (of) => {
        expect(await of.put(timeout, 'shop', 'slow', {})).toEqual({ created: false, warnings: [] });
        await of.delete(timeout, 'shop', 'slow');
        await expect(of.index()).rejects.toThrow(refusal);
      },
    );
  });

  it('has no plan of a deletion, and nothing is deleted', async () => {
    const asked: (string | undefined)[] = [];
    await answering(
      (response) => {
        asked.push(response.req.method);
        response.end(JSON.stringify({ product: 'Kuma', version: '2.14.0' }));
      },
      async (of) => expect(await of.planDelete(typeOf('Mesh'), '', 'shop')).toBeNull(),
    );
    expect(asked).toEqual(['GET']);
  });
});
