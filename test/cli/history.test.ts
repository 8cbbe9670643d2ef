// `meridian history`, `diff --from --to` and `rollback`: against a real global process.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CommandLine, type Outcome } from './command-line.ts';

let line: CommandLine;
let started: CommandLine | undefined;

const run = async (...args: string[]): Promise<Outcome> => await line.run([...args, '--mesh', 'shop']);

async function apply(name: string, seconds: number): Promise<void> {
  const input = `type: MeshTimeout
name: ${name}
mesh: shop
spec:
  to:
    - targetRef: { kind: Mesh }
      default: { connectionTimeout: ${String(seconds)}s }
`;
  expect(await line.run(['apply', '-f', '-'], { input })).toMatchObject({ code: 0, stderr: '' });
}

beforeAll(async () => {
  started = line = await CommandLine.start();
  await line.run(['apply', '-f', '-'], { input: 'type: Mesh\nname: shop\nskipCreatingInitialPolicies: ["*"]\n' });
  for (const seconds of [1, 2, 3]) await apply('slow', seconds);
});

afterAll(() => started?.stop());

describe('history', () => {
  it('lists who wrote which version and what it changed', async () => {
    const { code, stdout } = await run('history', 'mt', 'slow');
    expect(code).toBe(0);
    const [head, ...rows] = stdout.trimEnd().split('\n');
    expect(head).toMatch(/^VERSION +AGE +WHO +ACTION +WHAT$/);
    expect(rows[0]).toMatch(/^2 +\d+s +mesh-system:admin +updated +\/spec\/to\/0\/default\/connectionTimeout$/);
    expect(rows.at(-1)).toMatch(/^0 +\d+s +mesh-system:admin +created$/);
  });

  it('prints JSON, and nothing but a reason for an unknown resource', async () => {
    const { total, items } = JSON.parse((await run('history', 'mt', 'slow', '-o', 'json')).stdout) as {
      total: number;
      items: object[];
    };
    expect({ total, first: items[0] }).toMatchObject({ total: 3, first: { version: 2, by: 'mesh-system:admin', via: 'api' } });
    expect(await run('history', 'mt', 'never')).toMatchObject({ code: 3, stdout: '' });
    expect(await line.run(['history'])).toMatchObject({ code: 2, stderr: expect.stringContaining('--export') as string });
  });

  it('exports every version as a line of JSON', async () => {
    const { code, stdout } = await line.runProcess(['history', '--export']);
    expect(code).toBe(0);
    const lines = stdout
      .trimEnd()
      .split('\n')
      .map((text) => JSON.parse(text) as { id: number; name: string; version: number });
    const slow = lines.filter(({ name }) => name === 'slow');
    expect(slow.slice(0, 3).map(({ version }) => version)).toEqual([0, 1, 2]);
    const { stdout: rest } = await line.run(['history', '--export', '--after', String(slow[1]?.id)]);
    expect(rest.split('\n')[0]).toBe(stdout.split('\n').find((text) => text.includes(`"id":${String(slow[2]?.id)},`)));
  });
});

describe('diff of two versions', () => {
  it('shows the lines that changed, with exit code 5', async () => {
    const { code, stdout } = await run('diff', 'mt', 'slow', '--from', '0', '--to', '2');
    expect(code).toBe(5);
    expect(stdout).toMatch(/^- +connectionTimeout: 1s$/m);
    expect(stdout).toMatch(/^\+ +connectionTimeout: 3s$/m);
    expect((await run('diff', 'mt', 'slow')).stdout).toMatch(/^- +connectionTimeout: 2s$/m);
    expect(await run('diff', 'mt', 'slow', '--from', '1', '--to', '1')).toMatchObject({ code: 0, stdout: '' });
  });

  it('names the versions that are kept for an unknown one', async () => {
    const { code, stderr } = await run('diff', 'mt', 'slow', '--from', '0', '--to', '9');
    expect(code).toBe(3);
    expect(stderr).toContain('kept are 0, 1, 2');
  });
});

describe('rollback', () => {
  it('shows with --dry-run what would change, and then changes it', async () => {
    await apply('back', 1);
    await apply('back', 2);
    const planned = await run('rollback', 'mt', 'back', '--to', '0', '--dry-run');
    expect(planned).toMatchObject({ code: 0 });
    expect(planned.stdout).toMatch(/^MeshTimeout shop\/back would be rolled back to version 0\n.*\+ +connectionTimeout: 1s/s);
    expect((await run('get', 'mt', 'back', '-o', 'yaml')).stdout).toContain('connectionTimeout: 2s');
    expect(await run('rollback', 'mt', 'back', '--to', '0')).toMatchObject({
      code: 0,
      stdout: 'MeshTimeout shop/back is rolled back to version 0\n',
    });
    expect((await run('get', 'mt', 'back', '-o', 'yaml')).stdout).toContain('connectionTimeout: 1s');
    expect((await run('history', 'mt', 'back')).stdout).toMatch(/updated +back to 0, \/spec/);
    expect((await run('rollback', 'mt', 'back', '--to', '0')).stdout).toContain('is as in version 0');
  });

  it('brings a deleted resource back', async () => {
    await apply('gone', 1);
    await run('delete', 'mt', 'gone');
    const { stdout, stderr } = await run('history', 'mt', 'gone');
    expect(stdout).toMatch(/^1 +\d+s +mesh-system:admin +deleted$/m);
    expect(stderr).toContain('is deleted');
    expect((await run('rollback', 'mt', 'gone', '--to', '0')).code).toBe(0);
    expect((await run('get', 'mt', 'gone')).code).toBe(0);
  });

  it('refuses a deletion, and a version that is not a number', async () => {
    await apply('twice', 1);
    await run('delete', 'mt', 'twice');
    const refused = await run('rollback', 'mt', 'twice', '--to', '1');
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain('version 1 is a deletion');
    for (const call of [
      ['rollback', 'mt', 'twice', '--to', 'x'],
      ['diff', 'mt', 'twice', '--from', 'x'],
      ['diff', 'mt', 'twice', '--to', '-1'],
    ])
      expect(await run(...call)).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('must be the number of a version') as string,
      });
  });
});
