// Commands against servers that are not Meridian: a control plane of Kuma, and a server of another kind.
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { runMeridian, type Outcome } from '../support/run-meridian.ts';

type Answered = Outcome & { readonly writes: readonly string[] };

/** Runs a command with that server. @returns its outcome, and the requests that were no GET */
async function withServer(answer: RequestListener, args: readonly string[], input = ''): Promise<Answered> {
  const writes: string[] = [];
  const server = createServer((request, response) => {
    if (request.method !== 'GET') writes.push(`${request.method ?? ''} ${request.url ?? ''}`);
    answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  try {
    const env = { ...process.env, MERIDIAN_ADDRESS: `http://127.0.0.1:${String(port)}` };
    return { ...(await runMeridian(args, { input, env })), writes };
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

const TIMEOUT = { type: 'MeshTimeout', mesh: 'shop', name: 'slow', labels: { team: 'a' }, spec: {} };

/** A control plane of Kuma with one mesh and one policy. It has no HTTPRoute, and answers an unknown path with a text. */
const kuma: RequestListener = ({ method, url = '' }, response) => {
  const { pathname } = new URL(url, 'http://localhost');
  const json = (value: unknown): void => void response.end(JSON.stringify(value));
  if (method !== 'GET') response.end(method === 'PUT' ? '{}' : '');
  else if (pathname === '/') json({ product: 'Kuma CP', version: '2.14.0' });
  else if (pathname === '/meshes/shop') json({ type: 'Mesh', name: 'shop' });
  else if (/(httproutes|tcproutes)$/.test(pathname) && !pathname.includes('/mesh'))
    response.writeHead(404).end('404: Page Not Found');
  else json({ total: 1, next: null, items: pathname === '/meshtimeouts' ? [TIMEOUT] : [] });
};

describe('on a control plane of Kuma', () => {
  it('delete of a Mesh needs --yes, because nothing counts what it takes along', async () => {
    const asked = await withServer(kuma, ['delete', 'mesh', 'shop']);
    expect(asked).toMatchObject({ code: 2, stdout: '', writes: [] });
    expect(asked.stderr).toContain('Mesh shop takes all of its resources along; give --yes');
    const done = await withServer(kuma, ['delete', 'mesh', 'shop', '--yes']);
    expect(done).toMatchObject({ code: 0, stdout: 'deleted Mesh shop\n', writes: ['DELETE /meshes/shop'] });
  });

  it('export prints all of its resources, and asks for no type that only Meridian has', async () => {
    const { code, stdout, stderr } = await withServer(kuma, ['export']);
    expect([code, stderr]).toEqual([0, '1 resources; without secrets\n']);
    expect(stdout).toContain('name: slow');
  });

  it('get of a type that only Meridian has says that the path may be missing', async () => {
    const { code, stderr } = await withServer(kuma, ['get', 'httproutes', '-A']);
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('or one without this path') as string });
  });

  it('apply --prune deletes what the files no longer have', async () => {
    const { type, mesh } = TIMEOUT;
    const spec = { to: [{ targetRef: { kind: 'Mesh' }, default: { connectionTimeout: '1s' } }] };
    const input = JSON.stringify({ type, mesh, name: 'new', labels: { team: 'a' }, spec });
    const { code, stdout, writes } = await withServer(kuma, ['apply', '-f', '-', '--prune', '-l', 'team=a'], input);
    expect(code).toBe(0);
    expect(stdout).toContain('MeshTimeout shop/slow pruned');
    expect(writes).toEqual(['PUT /meshes/shop/meshtimeouts/new', 'DELETE /meshes/shop/meshtimeouts/slow']);
  });
});

describe('on a server that answers every request with a web page', () => {
  const page: RequestListener = (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end('<html>ok</html>');
  };

  it.each([
    ['delete -f -'],
    ['delete mt slow -m shop'],
    ['get mt'],
    ['export'],
    ['apply -f -'],
    ['history --export'],
    ['inspect zones'],
  ])('%s says that it is no control plane', async (words) => {
    const { code, stdout, stderr } = await withServer(page, words.split(' '), 'type: Mesh\nname: shop\n');
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain('the server at this address is not a control plane');
  });
});
