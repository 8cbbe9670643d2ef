// Commands whose output has no reader, in processes of their own.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { endWithTest } from '../support/children.ts';
import { MERIDIAN } from '../support/control-plane.ts';

const NAMES = Array.from({ length: 20 }, (_, index) => `slow-${String(index)}`);
/** A page of a list, which always has another one. */
const ENDLESS = { total: 1, items: [{ type: 'MeshTimeout', mesh: 'shop', name: 'slow' }], next: 'more' };
const server = createServer(({ method, url = '' }, response) => {
  if (method === 'DELETE') deleted.push(url.split('/').at(-1) ?? '');
  response
    .writeHead(url.endsWith(FAILING) ? 400 : 200)
    .end(JSON.stringify({ ...ENDLESS, ...{ title: 'no', product: 'Meridian', mode: 'global' } }));
});
let address = '';
let deleted: string[] = [];
const FAILING = 'slow-refused';

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  address = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
});
beforeEach(() => void (deleted = []));
afterAll(() => void server.close());

/** Runs a command, and closes the reading end of its output at once, as `| true` does. */
async function withoutReader(args: readonly string[], input: string, closed: readonly ('stdout' | 'stderr')[]): Promise<Ended> {
  const env = { ...process.env, MERIDIAN_ADDRESS: address };
  const child = endWithTest(spawn(MERIDIAN, args, { env, stdio: 'pipe' }));
  for (const name of closed) child[name].destroy();
  child.stdin.end(input);
  const closing = once(child, 'close') as Promise<[number | null]>;
  const [[code], stderr] = await Promise.all([closing, closed.includes('stderr') ? '' : text(child.stderr)]);
  return { code, stderr };
}

type Ended = { readonly code: number | null; readonly stderr: string };

function documents(names: readonly string[]): string {
  return names.map((name) => `type: MeshTimeout\nmesh: shop\nname: ${name}\nspec: {}\n`).join('---\n');
}

describe('a command whose output has no reader any more', () => {
  it.each([[['stdout']], [['stdout', 'stderr']]] as const)('deletes all that it was given, without %j', async (closed) => {
    expect(await withoutReader(['delete', '-f', '-'], documents(NAMES), closed)).toEqual({ code: 0, stderr: '' });
    expect(deleted).toEqual(NAMES.toReversed());
  });

  it('goes on after a failure that it cannot report, and ends with the exit code of its work', async () => {
    const { code } = await withoutReader(['delete', '-f', '-'], documents([...NAMES, FAILING]), ['stdout', 'stderr']);
    expect({ code, count: deleted.length }).toEqual({ code: 1, count: NAMES.length + 1 });
  });

  it('deletes all that it was given when the disk for its output is full, and says so', async () => {
    const full = openSync('/dev/full', 'w');
    try {
      const env = { ...process.env, MERIDIAN_ADDRESS: address };
      const child = endWithTest(spawn(MERIDIAN, ['delete', '-f', '-'], { env, stdio: ['pipe', full, 'pipe'] }));
      child.stdin?.end(documents(NAMES));
      const closing = once(child, 'close') as Promise<[number | null]>;
      const [[code], stderr] = await Promise.all([closing, child.stderr === null ? '' : text(child.stderr)]);
      expect({ code, count: deleted.length }).toEqual({ code: 1, count: NAMES.length });
      expect(stderr).toMatch(/^meridian: cannot write the output: ENOSPC.*\n$/);
    } finally {
      closeSync(full);
    }
  });

  it('ends at once with the exit code 0 if it only reads', async () => {
    expect(await withoutReader(['get', 'mt'], '', ['stdout'])).toEqual({ code: 0, stderr: '' });
  });
});
