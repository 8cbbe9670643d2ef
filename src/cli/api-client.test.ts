import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ApiClient } from './api-client.ts';

/** Rows of the list that the server has; every fifth is of team a. */
const ROWS = Array.from({ length: 2_500 }, (_, index) => ({
  type: 'MeshTimeout',
  mesh: 'shop',
  name: `row-${String(index)}`,
  labels: { team: index % 5 === 0 ? 'a' : 'b' },
}));
const asked: string[] = [];
let server: Server;
let client: ApiClient;

beforeAll(async () => {
  server = createServer((request, response) => {
    const query = new URL(request.url ?? '', 'http://localhost').searchParams;
    const [size, offset] = [Number(query.get('size')), Number(query.get('offset'))];
    asked.push(`${String(offset)}+${String(size)}`);
    const next = offset + size < ROWS.length ? 'more' : null;
    response.end(JSON.stringify({ total: ROWS.length, items: ROWS.slice(offset, offset + size), next }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  client = new ApiClient(`http://127.0.0.1:${String((server.address() as AddressInfo).port)}`);
});

afterAll(() => new Promise((resolve) => server.close(resolve)));

describe('a list', () => {
  it('is read page after page', async () => {
    asked.length = 0;
    expect(await client.pages('/meshtimeouts')).toEqual(ROWS);
    expect(asked).toEqual(['0+1000', '1000+1000', '2000+1000']);
  });

  it('goes on after the rows of the server, not after those that were kept', async () => {
    asked.length = 0;
    const kept = await client.pages('/meshtimeouts', {}, ({ labels }) => labels?.['team'] === 'a');
    expect(kept.map(({ name }) => name)).toEqual(ROWS.flatMap(({ name }, index) => (index % 5 === 0 ? [name] : [])));
    expect(asked).toEqual(['0+1000', '1000+1000', '2000+1000']);
  });
});
