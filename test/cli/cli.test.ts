// Runs every command once against a real global process, one of each kind as a user runs it.
import { once } from 'node:events';
import { existsSync, readFileSync, readdirSync, rmSync, statSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WAIT } from '../support/wait.ts';
import { CommandLine, type Outcome } from './command-line.ts';

const SHOP = join(import.meta.dirname, '../../examples/shop/global');

let line: CommandLine;
let started: CommandLine | undefined;

beforeAll(async () => {
  started = line = await CommandLine.start();
  const applied = await line.runProcess(['apply', '-f', SHOP]);
  expect(applied).toMatchObject({ code: 0, stderr: '' });
  expect(applied.stdout).toContain('MeshTimeout shop/slow created');
  expect(applied.stdout).toMatch(/13 resources: 13 created; in one transaction\n$/);
});

afterAll(() => started?.stop());

function timeout(name: string, requestTimeout: string, more = ''): string {
  return `type: MeshTimeout
name: ${name}
mesh: shop
${more}spec:
  targetRef: { kind: Mesh }
  to:
    - targetRef: { kind: Mesh }
      default: { http: { requestTimeout: ${requestTimeout} } }
`;
}

async function run(...args: string[]): Promise<Outcome> {
  return await line.run(args);
}

async function requestTimeoutOf(name: string): Promise<unknown> {
  const { stdout } = await run('get', 'mt', name, '--mesh', 'shop', '-o', 'json');
  const { spec } = JSON.parse(stdout) as { spec: { to: { default: { http: { requestTimeout: string } } }[] } };
  return spec.to[0]?.default.http.requestTimeout;
}

describe('apply', () => {
  it('names the file, line and column of an unknown field, and changes nothing', async () => {
    await line.write(
      'bad.yaml',
      `${timeout('good', '1s')}---\n${timeout('bad', '1s').replace('requestTimeout', 'requestTimeuot')}`,
    );
    const { code, stdout, stderr } = await run('apply', '-f', 'bad.yaml');
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain('bad.yaml:17:26: spec.to[0].default.http.requestTimeuot');
    expect(stderr).toContain('did you mean "requestTimeout"?');
    expect((await run('get', 'mt', 'good', '--mesh', 'shop')).code).toBe(3);
  });

  it('shows the changes with --dry-run, without colour, and changes nothing', async () => {
    const input = timeout('slow', '30s');
    const { code, stdout } = await line.runProcess(['apply', '-f', '-', '--dry-run'], { input });
    expect(code).toBe(0);
    expect(stdout).toContain('MeshTimeout shop/slow would be updated');
    expect(stdout).toMatch(/^ {2}- +requestTimeout: 20s$/m);
    expect(stdout).toMatch(/^ {2}\+ +requestTimeout: 30s$/m);
    expect(stdout).not.toContain('\u001b');
    expect(await requestTimeoutOf('slow')).toBe('20s');
  });

  it('prunes what has the labels and is not in the files, first as a dry run', async () => {
    const labelled = (name: string, team: string): string => timeout(name, '1s', `labels: { set: ${team} }\n`);
    const namesLeft = async (): Promise<string[]> => {
      const names = (await run('get', 'mt', '--mesh', 'shop', '-l', 'set', '-o', 'json')).stdout;
      return (JSON.parse(names) as { items: { name: string }[] }).items.map(({ name }) => name);
    };
    const input = labelled('keep', 'a');
    const all = [input, labelled('drop', 'a'), labelled('other', 'b')].join('---\n');
    expect((await line.run(['apply', '-f', '-'], { input: all })).code).toBe(0);
    const dry = await line.run(['apply', '-f', '-', '--prune', '-l', 'set=a', '--dry-run'], { input });
    expect(dry.stdout).toMatch(/^MeshTimeout shop\/drop would be pruned$/m);
    expect(await namesLeft()).toEqual(['drop', 'keep', 'other']);
    const done = await line.run(['apply', '-f', '-', '--prune', '-l', 'set=a', '-o', 'json'], { input });
    expect(JSON.parse(done.stdout)).toMatchObject([{ name: 'keep' }, { type: 'MeshTimeout', name: 'drop', result: 'pruned' }]);
    expect(await namesLeft()).toEqual(['keep', 'other']);
    expect(await line.run(['apply', '-f', '-', '--prune'], { input })).toMatchObject({ code: 2 });
    const blank = await line.run(['apply', '-f', '-', '--prune', '-l', ''], { input });
    expect([blank.code, blank.stderr]).toEqual([2, expect.stringContaining('-l: must not be blank')]);
    expect(await namesLeft()).toEqual(['keep', 'other']);
    await line.run(['delete', '-f', '-'], { input: [input, labelled('other', 'b')].join('---\n') });
  });

  it('applies every resource when the reader of its output has gone', async () => {
    const names = Array.from({ length: 3 }, (_, index) => `unread-${String(index)}`);
    await line.write('unread.yaml', names.map((name) => timeout(name, '1s')).join('---\n'));
    const child = line.begin(['apply', '-f', 'unread.yaml']);
    child.stdout?.destroy();
    expect(await once(child, 'exit')).toEqual([0, null]);
    for (const name of names) expect(await requestTimeoutOf(name)).toBe('1s');
    await run('delete', '-f', 'unread.yaml');
  });

  it('is refused for a missing mesh, with the positions of its documents', async () => {
    const { code, stderr } = await line.run(['apply', '-f', '-'], { input: timeout('x', '1s').replace('shop', 'nowhere') });
    expect(code).toBe(3);
    expect(stderr).toContain('there is no mesh "nowhere"');
    expect(stderr).toContain('standard input:3:1: mesh');
  });

  it('prints JSON for programs', async () => {
    const { stdout } = await line.run(['apply', '-f', '-', '-o', 'json'], { input: timeout('slow', '20s') });
    expect(JSON.parse(stdout)).toMatchObject([{ type: 'MeshTimeout', mesh: 'shop', name: 'slow' }]);
  });

  it('accepts a URL', async () => {
    const { code, stdout } = await run('apply', '-f', `${line.address}/meshes/shop`);
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/^Mesh shop /) as string });
  });

  it('shows the warnings of the control plane', async () => {
    const input = timeout('idle', '1s').replace('targetRef: { kind: Mesh }', 'targetRef: { kind: MeshGateway, name: x }');
    const { code, stdout } = await line.run(['apply', '-f', '-'], { input });
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('\n  spec.targetRef.kind: ') as string });
  });
});

describe('get', () => {
  it('shows a table that fits 80 columns, by any name of the type', async () => {
    for (const type of ['MeshTimeout', 'meshtimeouts', 'mt']) {
      const { code, stdout } = await run('get', type, '-A');
      expect(code).toBe(0);
      expect(stdout).toMatch(/^shop +slow +- +global +\d+\w +\d+\w$/m);
      for (const row of stdout.split('\n')) expect(row.length).toBeLessThanOrEqual(80);
    }
  });

  it('selects by label and zone, and reports an empty result', async () => {
    expect((await run('get', 'meshtimeouts', '-A', '-l', 'team=payments', '-o', 'json')).stdout).toContain('"total": 1');
    const totals = async (selector: string): Promise<string | undefined> =>
      /"total": \d+/.exec((await run('get', 'mt', '-A', '-l', selector, '-o', 'json')).stdout)?.[0];
    expect(await totals('team in (payments,nobody)')).toBe('"total": 1');
    expect(await totals('!team')).toBe(await totals('team notin (payments,storefront)'));
    const { code, stdout, stderr } = await run('get', 'mt', '--mesh', 'shop', '--zone', 'east');
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
    expect(stderr).toContain('no mesh timeouts of zone east in mesh shop');
  });

  it('prints YAML that apply accepts unchanged, and other forms', async () => {
    const { stdout } = await run('get', 'mt', 'slow', '--mesh', 'shop', '-o', 'yaml');
    const again = await line.run(['apply', '-f', '-', '--dry-run'], { input: stdout });
    expect(again.stdout).toBe('MeshTimeout shop/slow unchanged\n');
    const list = await run('get', 'mt', '-A', '-o', 'yaml');
    expect((await line.run(['diff', '-f', '-'], { input: list.stdout })).code).toBe(0);
    const kubernetes = await run('get', 'mt', 'slow', '--mesh', 'shop', '-o', 'yaml', '--format', 'kubernetes');
    expect(kubernetes.stdout).toContain('apiVersion: kuma.io/v1alpha1');
  });

  it('prints one JSON document for several resources of another form, and for none', async () => {
    const listed = async (format: string, ...more: string[]): Promise<unknown> =>
      JSON.parse((await run('get', 'meshhttproutes,mt', '-A', '-o', 'json', '--format', format, ...more)).stdout);
    const list = await listed('kubernetes');
    const kinds = (list as { items: { kind: string }[] }).items.map(({ kind }) => kind);
    expect([list, new Set(kinds)]).toMatchObject([{ apiVersion: 'v1', kind: 'List' }, new Set(['MeshHTTPRoute', 'MeshTimeout'])]);
    const nothing = { apiVersion: 'v1', kind: 'List', items: [] };
    expect(await listed('kubernetes', '-l', 'team=none')).toEqual(nothing);
    const { stdout } = await run('get', 'meshhttproutes', '-A', '-l', 'team=none', '-o', 'json', '--format', 'gateway-api');
    expect(JSON.parse(stdout)).toEqual(nothing);
  });

  it('prints a remedy for a wrong type, name, mesh or address', async () => {
    const said = async (args: string[], code: number, text: string): Promise<void> => {
      const outcome = await run(...args);
      expect([outcome.code, outcome.stderr]).toEqual([code, expect.stringContaining(text)]);
    };
    await said(['get', 'meshtimeuts'], 2, 'Did you mean meshtimeouts?');
    await said(['get', 'mt', 'nosuch', '--mesh', 'shop'], 3, '`meridian get meshtimeouts -A`');
    await said(['get', 'mt', '--mesh', 'nosuch'], 3, '`meridian get meshes`');
    await said(['get', 'mt', '--mesh', 'nosuch', '-w'], 3, '`meridian get meshes`');
    await said(['get', 'mt', '..', '--mesh', 'shop'], 2, '".." is not a valid name');
    await said(['delete', 'mt', '', '--mesh', 'shop'], 2, '"" is not a valid name');
    await said(['get', 'mt', '--address', 'http://127.0.0.1:1'], 4, '`meridian global run`');
    await said(['get', 'mt', '-l', 'a>b'], 2, 'at character 2 there is ">"');
    await said(['get'], 2, "missing required argument 'type'");
  });

  it('shows several types, each in its table, and all in one list for programs', async () => {
    const { code, stdout } = await run('get', 'mt,meshes,mt', '-A');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^MeshTimeout\nMESH +NAME/);
    expect(stdout).toMatch(/\n\nMesh\nNAME +/);
    expect(stdout.match(/^MeshTimeout$/gm)).toHaveLength(1);
    const { items } = JSON.parse((await run('get', 'mt,meshes', '-A', '-o', 'json')).stdout) as { items: { type: string }[] };
    expect(new Set(items.map(({ type }) => type))).toEqual(new Set(['MeshTimeout', 'Mesh']));
    expect(await run('get', 'mt,meshes', 'slow')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('one type') as string,
    });
    expect(await run('get', 'mt,meshes', '-w')).toMatchObject({ code: 2, stderr: expect.stringContaining('one type') as string });
  });

  it('prints names that get, describe and delete take', async () => {
    await line.run(['apply', '-f', '-'], { input: timeout('named', '1s', 'labels: { named: a }\n') });
    const { stdout } = await run('get', 'mt', '--mesh', 'shop', '-l', 'named', '-o', 'name');
    expect(stdout).toBe('meshtimeout/named\n');
    expect((await run('get', stdout.trim(), '--mesh', 'shop')).stdout).toMatch(/^shop +named/m);
    expect((await run('describe', stdout.trim(), '--mesh', 'shop')).stdout).toMatch(/^Name: +named$/m);
    expect(await run('delete', stdout.trim(), 'other', '--mesh', 'shop')).toMatchObject({ code: 2 });
    expect(await run('delete', stdout.trim(), '--mesh', 'shop')).toMatchObject({
      code: 0,
      stdout: 'deleted MeshTimeout shop/named\n',
    });
  });

  it('sorts by a field', async () => {
    const sorted = async (field: string): Promise<string[]> =>
      (await run('get', 'secrets', '-A', '--sort-by', field, '-o', 'name')).stdout.trim().split('\n');
    const names = await sorted('name');
    expect(names.length).toBeGreaterThan(1);
    expect(names).toEqual(names.toSorted(new Intl.Collator('en', { numeric: true }).compare));
    expect((await sorted('.metadata.creationTimestamp')).toSorted()).toEqual(names.toSorted());
    const { code, stderr } = await run('get', 'mt', '-A', '--sort-by', 'nosuch');
    expect([code, stderr]).toEqual([2, expect.stringContaining('no resource has the field "nosuch"')]);
  });

  it('names jq in place of the templates of kubectl', async () => {
    const { code, stderr } = await run('get', 'mt', '-A', '-o', 'jsonpath={.items[*].name}');
    expect([code, stderr]).toEqual([2, expect.stringContaining('-o json | jq')]);
  });

  it('takes an empty variable for one that is not set', async () => {
    const { code, stdout } = await line.runProcess(['get', 'mt', '-o', 'json'], { env: { MERIDIAN_MESH: '' } });
    expect([code, stdout]).toEqual([0, (await run('get', 'mt', '--mesh', 'default', '-o', 'json')).stdout]);
    expect((await run('get', 'mt', '--mesh', '')).code).toBe(2);
    const launched = await line.run(['dataplane', 'run'], { env: { MERIDIAN_DATAPLANE_READINESS_PORT: '' } });
    expect(launched.stderr).toBe('meridian: give --dataplane-file FILE, or --name NAME of a Dataplane that exists\n');
  });

  it('watches until Ctrl-C', async () => {
    const child = line.begin(['get', 'mt', '--mesh', 'shop', '-w', '-l', 'team notin (payments),!hidden']);
    const { stdout } = child;
    if (stdout === null) throw new Error('no output');
    const rows = createInterface({ input: stdout })[Symbol.asyncIterator]();
    const next = async (pattern: RegExp): Promise<void> => {
      for (;;) {
        const { value, done } = await rows.next();
        if (done === true) throw new Error(`the watch ended without ${String(pattern)}`);
        if (pattern.test(value)) return;
      }
    };
    await next(/^existing +shop +slow/);
    await line.run(['apply', '-f', '-'], { input: timeout('watched', '1s') });
    await next(/^added +shop +watched/);
    await line.run(['apply', '-f', '-'], { input: timeout('watched', '1s', 'labels: { hidden: "" }\n') });
    await next(/^deleted +shop +watched/);
    await line.run(['apply', '-f', '-'], { input: timeout('watched', '1s') });
    await next(/^added +shop +watched/);
    await run('delete', 'mt', 'watched', '--mesh', 'shop');
    await next(/^deleted +shop +watched/);
    const ended = once(child, 'exit');
    child.kill('SIGINT');
    expect(await ended).toEqual([0, null]);
  });
});

describe('describe', () => {
  it('shows the content, the zones and the versions of a resource', async () => {
    await line.run(['apply', '-f', '-'], { input: timeout('told', '1s') });
    await line.run(['apply', '-f', '-'], { input: timeout('told', '2s') });
    const { code, stdout, stderr } = await run('describe', 'mt', 'told', '--mesh', 'shop');
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^Origin: +global$/m);
    expect(stdout).toMatch(/^Created: +\S+Z \(\d+\w\)$/m);
    expect(stdout).toContain('\nSpec:\n  targetRef:\n    kind: Mesh\n');
    expect(stdout).toMatch(/\nZones:\n {2}MeshTimeout shop\/told: /);
    expect(stdout).toMatch(
      /\nHistory:\n {2}VERSION +AGE +WHO +ACTION +WHAT\n {2}\d+ .*updated +\/spec\/to\/0\/default\/http\/requestTimeout$/m,
    );
    expect(stdout).toContain('  meridian inspect policy meshtimeout told --mesh shop');
    expect((await run('describe', 'mesh', 'shop')).stdout).toMatch(/^Type: +Mesh$/m);
    expect((await run('describe', 'mt', 'nosuch', '--mesh', 'shop')).code).toBe(3);
    expect((await run('describe', 'mt')).code).toBe(2);
  });

  it('does not show the data of a secret', async () => {
    const { items } = JSON.parse((await run('get', 'globalsecrets', '-o', 'json')).stdout) as {
      items: { name: string; data: string }[];
    };
    const [{ name, data } = { name: '', data: '' }] = items;
    expect(data).not.toBe('');
    const { stdout } = await run('describe', 'globalsecret', name);
    expect(stdout).toContain('data: (hidden)');
    expect(stdout).not.toContain(data);
  });
});

describe('edit', () => {
  it('stores the edited text, and nothing if it is unchanged', async () => {
    await line.run(['apply', '-f', '-'], { input: timeout('edited', '1s') });
    const edited = await line.runProcess(['edit', 'mt', 'edited', '--mesh', 'shop'], { env: { EDITOR: "sed -i 's/1s/2s/'" } });
    expect(edited).toMatchObject({ code: 0, stdout: 'MeshTimeout shop/edited updated\n' });
    expect(await requestTimeoutOf('edited')).toBe('2s');
    const same = await line.run(['edit', 'mt', 'edited', '--mesh', 'shop'], { env: { EDITOR: 'true' } });
    expect(same).toMatchObject({ code: 0, stdout: 'MeshTimeout shop/edited unchanged\n' });
  });

  it('does not overwrite another change, and keeps the text in a file', async () => {
    await line.write('theirs.json', JSON.stringify({ type: 'MeshTimeout', mesh: 'shop', name: 'edited', spec: specOf('7s') }));
    const put = `curl -sf -X PUT -H 'content-type: application/json' -d @theirs.json ${line.address}/meshes/shop/meshtimeouts/edited`;
    await line.write('racer.sh', `#!/bin/sh\n${put} && sed -i 's/2s/3s/' "$1"\n`, 0o700);
    const { code, stderr } = await line.run(['edit', 'mt', 'edited', '--mesh', 'shop'], { env: { EDITOR: './racer.sh' } });
    expect(code).toBe(1);
    expect(stderr).toContain('Another writer has changed the resource');
    expect(await requestTimeoutOf('edited')).toBe('7s');
    const kept = /meridian apply -f (\S+)/.exec(stderr)?.[1] ?? '';
    expect(readFileSync(kept, 'utf8')).toContain('requestTimeout: 3s');
  });

  it('shows the refused part, and ends if the editor saves no correction', async () => {
    const env = { EDITOR: "sed -i 's/requestTimeout/requestTimeuot/'" };
    const { code, stderr } = await line.run(['edit', 'mt', 'edited', '--mesh', 'shop'], { env });
    expect(code).toBe(1);
    expect(stderr).toContain('did you mean "requestTimeout"?');
    const kept = readFileSync(/meridian apply -f (\S+)/.exec(stderr)?.[1] ?? '', 'utf8');
    const [, number = ''] = /\.yaml:(\d+):\d+: spec\S+requestTimeuot/.exec(kept) ?? [];
    expect(kept.split('\n')[Number(number) - 1]).toContain('requestTimeuot: 7s');
  });

  it('keeps the text when the editor fails later, and stops on an empty file', async () => {
    await line.write('once.sh', '#!/bin/sh\ngrep -q "not accepted" "$1" && exit 1\nsed -i s/requestTimeout/mine/ "$1"\n', 0o700);
    const { code, stderr } = await line.run(['edit', 'mt', 'edited', '--mesh', 'shop'], { env: { EDITOR: './once.sh' } });
    expect(code).toBe(1);
    expect(readFileSync(/meridian apply -f (\S+)/.exec(stderr)?.[1] ?? '', 'utf8')).toContain('mine: 7s');
    const emptied = await line.run(['edit', 'mt', 'edited', '--mesh', 'shop'], { env: { EDITOR: 'truncate -s 0' } });
    expect(emptied).toMatchObject({ code: 0, stdout: 'MeshTimeout shop/edited unchanged\n' });
  });

  it('says which editor left no file, and keeps an earlier text', async () => {
    const removed = await line.run(['edit', 'mt', 'edited', '--mesh', 'shop'], { env: { EDITOR: 'rm' } });
    expect(removed).toMatchObject({ code: 1, stderr: 'meridian: the editor "rm" left no file that can be read\n' });
    await line.write(
      'then-rm.sh',
      '#!/bin/sh\ngrep -q "not accepted" "$1" && exec rm "$1"\nsed -i s/requestTimeout/mine/ "$1"\n',
      0o700,
    );
    const { stderr } = await line.run(['edit', 'mt', 'edited', '--mesh', 'shop'], { env: { EDITOR: './then-rm.sh' } });
    expect(readFileSync(/meridian apply -f (\S+)/.exec(stderr)?.[1] ?? '', 'utf8')).toContain('mine: 7s');
  });
});

function specOf(requestTimeout: string): object {
  const targetRef = { kind: 'Mesh' };
  return { targetRef, to: [{ targetRef, default: { http: { requestTimeout } } }] };
}

describe('diff and export', () => {
  it('report a difference with exit code 5', async () => {
    await line.write('same.yaml', timeout('diffed', '1s'));
    await run('apply', '-f', 'same.yaml');
    expect(await run('diff', '-f', 'same.yaml')).toMatchObject({ code: 0, stdout: '' });
    const changed = await line.runProcess(['diff', '-f', '-'], { input: timeout('diffed', '2s') });
    expect([changed.code, changed.stdout]).toEqual([5, expect.stringContaining('requestTimeout: 2s')]);
  });

  it('print documents for apply, Meshes first, with secrets only on request', async () => {
    const { code, stdout, stderr } = await line.runProcess(['export']);
    expect([code, stderr]).toEqual([0, expect.stringContaining('without secrets')]);
    expect(stdout.startsWith('type: Mesh\n')).toBe(true);
    expect(stdout).not.toMatch(/Secret|creationTime|kri_/);
    await line.write('all.yaml', stdout);
    const applied = await run('apply', '-f', 'all.yaml');
    expect(applied.code).toBe(0);
    expect(applied.stdout).toMatch(/ in one transaction\n$/);
    const secrets = await run('export', '--include-secrets', '--mesh', 'shop');
    expect(secrets.stdout).toContain('type: Secret\nmesh: shop\n');
    const hidden = await line.run(['diff', '-f', '-'], { input: secrets.stdout.replace(/data: .{8}/, 'data: AAAAAAAA') });
    expect(hidden.stdout).toContain('(hidden, changed)');
    expect(hidden.stdout).not.toContain('AAAAAAAA');
  });
});

describe('preview', () => {
  it('says what files would change, and changes nothing', async () => {
    await line.write('tried.yaml', timeout('tried', '4s'));
    const { code, stdout } = await run('preview', '-f', 'tried.yaml');
    expect({ code, stdout }).toEqual({
      ...{
        code: 0,
        stdout: expect.stringMatching(/^MeshTimeout tried would be created\n {2}no zone has joined yet\n/) as string,
      },
    });
    expect((await run('get', 'mt', 'tried', '--mesh', 'shop')).code).toBe(3);
    const { items } = JSON.parse((await run('preview', '-f', 'tried.yaml', '-o', 'json')).stdout) as { items: object[] };
    expect(items).toMatchObject([{ name: 'tried', result: 'created', sentTo: 0 }]);
  });

  it('does not print the value of a secret', async () => {
    const data = Buffer.from('hunter2').toString('base64');
    await line.write('key.yaml', `type: Secret\nname: previewed\nmesh: shop\ndata: ${data}\n`);
    const { code, stdout } = await run('preview', '-f', 'key.yaml', '-o', 'json');
    expect([code, stdout]).toEqual([0, expect.stringContaining('"op": "add"')]);
    expect(stdout).not.toContain(data);
  });

  it('says what a deletion of files would change', async () => {
    await line.write('tried.yaml', timeout('tried', '4s'));
    expect((await run('preview', '--delete', '-f', 'tried.yaml')).code).toBe(3);
    await run('apply', '-f', 'tried.yaml');
    const { code, stdout } = await run('preview', '--delete', '-f', 'tried.yaml');
    expect({ code, stdout }).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^MeshTimeout tried would be deleted\n/) as string,
    });
    expect((await run('delete', '-f', 'tried.yaml')).code).toBe(0);
  });

  it('names the file, line and column of a refused field', async () => {
    await line.write('tried.yaml', timeout('tried', 'soon'));
    const { code, stderr } = await run('preview', '-f', 'tried.yaml');
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('tried.yaml:8:') as string });
  });
});

describe('delete', () => {
  it('accepts a name or files', async () => {
    await line.write('gone.yaml', `type: Mesh\nname: gone\n---\n${timeout('gone', '1s').replace('mesh: shop', 'mesh: gone')}`);
    await run('apply', '-f', 'gone.yaml');
    const byName = await run('delete', 'meshtimeout', 'gone', '--mesh', 'gone');
    expect(byName).toMatchObject({ code: 0, stdout: 'deleted MeshTimeout gone/gone\n' });
    const byFile = await run('delete', '-f', 'gone.yaml', '--ignore-not-found');
    expect(byFile).toMatchObject({ code: 0, stdout: 'MeshTimeout gone/gone does not exist\ndeleted Mesh gone\n' });
    expect((await run('delete', '-f', 'gone.yaml')).code).toBe(3);
    expect((await run('delete', 'mt')).code).toBe(2);
  });

  it('counts the resources of a Mesh, and deletes it in a script with --yes only', async () => {
    await line.write(
      'full.yaml',
      `type: Mesh\nname: full\nskipCreatingInitialPolicies: ['*']\n---\n${timeout('one', '1s').replace('mesh: shop', 'mesh: full')}`,
    );
    await run('apply', '-f', 'full.yaml');
    const planned = await run('delete', 'mesh', 'full', '--dry-run');
    expect(planned).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^would delete Mesh full with \d resources? \(.*1 MeshTimeout/) as string,
    });
    const refused = await run('delete', 'mesh', 'full');
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringMatching(/1 MeshTimeout.* along; give --yes/)]);
    expect((await run('get', 'mt', 'one', '--mesh', 'full')).code).toBe(0);
    expect(await run('delete', 'mesh', 'full', '--yes')).toMatchObject({ code: 0, stdout: 'deleted Mesh full\n' });
    expect((await run('get', 'mesh', 'full')).code).toBe(3);
  });
});

describe('inspect', () => {
  it('shows zones, meshes and dataplanes', async () => {
    const meshes = await run('inspect', 'meshes');
    expect(meshes.stdout).toMatch(/^MESH +DATAPLANES +SERVICES +POLICIES +TLS$/m);
    expect(meshes.stdout).toMatch(/^shop +0\/0 +2 +\d+ +-$/m);
    expect(await run('inspect', 'zones')).toMatchObject({ code: 0, stderr: expect.stringContaining('no zone') as string });
    expect(await run('inspect', 'dataplanes', '--mesh', 'shop', '-o', 'json')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('"total": 0') as string,
    });
    const chosen = await run('inspect', 'dataplanes', '--mesh', 'shop', '-l', 'app in (cart,web),!old');
    expect(chosen).toMatchObject({ code: 0, stderr: expect.stringContaining('no dataplanes') as string });
  });
});

describe('generate', () => {
  it('prints tokens and nothing else', async () => {
    const zone = await line.runProcess(['generate', 'zone-token', '--zone', 'east', '--valid-for', '1h']);
    expect(zone).toMatchObject({ code: 0, stderr: '' });
    expect(claimsOf(zone.stdout)).toMatchObject({ Zone: 'east' });
    const user = await run('generate', 'user-token', '--name', 'jo', '--group', 'a', '--group', 'b', '--valid-for', '1h');
    expect(claimsOf(user.stdout)).toMatchObject({ Name: 'jo', Groups: ['a', 'b'] });
    const tags = ['--tag', 'a=1', '--tag', 'a=2', '--valid-for', '1h'];
    const dataplane = await run('generate', 'dataplane-token', '--mesh', 'shop', '--name', 'web', ...tags);
    expect(claimsOf(dataplane.stdout)).toMatchObject({ Mesh: 'shop', Name: 'web', Tags: { a: ['1', '2'] } });
    await line.write('jo.token', user.stdout);
    expect((await run('get', 'meshes', '--token-file', 'jo.token')).code).toBe(0);
    expect((await run('generate', 'zone-token', '--zone', 'East', '--valid-for', '1h')).code).toBe(1);
    expect((await run('generate', 'zone-token', '--zone', 'east')).code).toBe(2);
  });

  it('names the types and scopes for an unknown one, with and without a control plane', async () => {
    await line.write('types.pem', (await run('generate', 'signing-key', '--format', 'pem')).stdout);
    for (const offline of [[], ['--signing-key-path', 'types.pem', '--kid', '1']]) {
      const type = await run('generate', 'dataplane-token', '--mesh', 'shop', '--type', 'foo', '--valid-for', '1h', ...offline);
      expect(type).toMatchObject({
        code: 1,
        stdout: '',
        stderr: expect.stringMatching(/type: must be dataplane, ingress or egress/) as string,
      });
      const scope = await run('generate', 'zone-token', '--zone', 'east', '--scope', 'foo', '--valid-for', '1h', ...offline);
      expect(scope).toMatchObject({
        code: 1,
        stdout: '',
        stderr: expect.stringMatching(/scope\.0: must be cp, ingress or egress/) as string,
      });
    }
  });

  it('writes a token or a key to a file for its owner, and replaces a file only with an option', async () => {
    const modeOf = (file: string): number => statSync(join(line.folder, file)).mode & 0o777;
    const read = (file: string): string => readFileSync(join(line.folder, file), 'utf8');
    const args = ['generate', 'zone-token', '--zone', 'east', '--valid-for', '1h', '--out', 'east.token'];
    expect(await run(...args)).toMatchObject({ code: 0, stdout: '', stderr: expect.stringContaining('east.token') as string });
    expect(modeOf('east.token')).toBe(0o600);
    const first = read('east.token');
    expect(claimsOf(first)).toMatchObject({ Zone: 'east' });
    expect(await run(...args)).toMatchObject({ code: 1, stderr: expect.stringContaining('--force replaces it') as string });
    expect(read('east.token')).toBe(first);
    expect((await run(...args, '--force')).code).toBe(0);
    expect(read('east.token')).not.toBe(first);
    expect((await run('generate', 'signing-key', '--format', 'pem', '--out', 'signing-key.pem')).code).toBe(0);
    expect(modeOf('signing-key.pem')).toBe(0o600);
    expect(read('signing-key.pem')).toMatch(/^-----BEGIN RSA PRIVATE KEY-----\n/);
    expect((await run('generate', 'signing-key', '--force')).code).toBe(2);
  });

  it('signs with a key from a file without a control plane', async () => {
    await line.write('signing.pem', (await run('generate', 'signing-key', '--format', 'pem')).stdout);
    const env = { MERIDIAN_ADDRESS: 'http://127.0.0.1:1' };
    const args = ['generate', 'user-token', '--name', 'jo', '--group', 'mesh-system:admin', '--valid-for', '1h'];
    const signed = await line.run([...args, '--signing-key-path', 'signing.pem', '--kid', '2'], { env });
    expect(signed).toMatchObject({ code: 0, stderr: '' });
    expect(claimsOf(signed.stdout)).toMatchObject({ Name: 'jo', Groups: ['mesh-system:admin'] });
    expect((await run('generate', 'public-key', '--signing-key-path', 'signing.pem')).stdout).toMatch(
      /^-----BEGIN RSA PUBLIC KEY-----\n/,
    );
    expect(Buffer.from((await run('generate', 'signing-key')).stdout, 'base64').toString()).toMatch(
      /^-----BEGIN RSA PRIVATE KEY-----\n/,
    );
  });

  it('names the missing options for signing without a control plane', async () => {
    const args = ['generate', 'user-token', '--name', 'jo', '--valid-for', '1h'];
    const said = async (more: string[], code: number, text: string): Promise<void> => {
      const outcome = await run(...args, ...more);
      expect([outcome.code, outcome.stdout, outcome.stderr]).toEqual([code, '', expect.stringContaining(text)]);
    };
    await said(['--kid', '2'], 2, 'give --signing-key-path and --kid together');
    await said(['--signing-key-path', 'none.pem'], 2, 'give --signing-key-path and --kid together');
    await said(['--signing-key-path', 'none.pem', '--kid', '2'], 1, 'none.pem cannot be read (ENOENT)');
    await said(
      ['--signing-key-path', 'a.pem', '--kid', '2', '--address', 'http://127.0.0.1:1'],
      2,
      'excludes the options of a control plane',
    );
    await line.write('no-key.pem', 'hush');
    const { stderr } = await run(...args, '--signing-key-path', 'no-key.pem', '--kid', '2');
    expect(stderr).toContain('`meridian generate signing-key --format pem` prints one');
    expect(stderr).not.toContain('hush');
  });

  it('creates no token that is good for more because an option is blank', async () => {
    const blank: [string, string[]][] = [
      ...['--name', '--type', '--workload', '--tag'].map((option): [string, string[]] => [
        option,
        ['dataplane-token', '--mesh', 'shop', '--valid-for', '1h', option, ''],
      ]),
      ['--valid-for', ['dataplane-token', '--mesh', 'shop', '--valid-for', '']],
      ['--scope', ['zone-token', '--zone', 'east', '--valid-for', '1h', '--scope', ' ']],
      // `$A,$B` of two variables that are not set.
      ['--scope', ['zone-token', '--zone', 'east', '--valid-for', '1h', '--scope', ',']],
      ['--tag', ['dataplane-token', '--mesh', 'shop', '--valid-for', '1h', '--tag', ',']],
    ];
    for (const [option, args] of blank)
      expect(await run('generate', ...args)).toMatchObject({
        code: 2,
        stdout: '',
        stderr: expect.stringContaining(option) as string,
      });
    const tag = await run('generate', 'dataplane-token', '--mesh', 'shop', '--valid-for', '1h', '--tag', '__proto__=x');
    expect([tag.code, tag.stdout]).toEqual([2, '']);
  });

  it('creates a certificate that a client can trust by its file, and a private key file', async () => {
    const args = ['generate', 'tls-certificate', '--type', 'server', '--hostname', 'localhost'];
    expect((await run(...args)).code).toBe(0);
    const modes = ['cert.pem', 'key.pem'].map((file) => statSync(join(line.folder, file)).mode & 0o777);
    expect(modes).toEqual([0o644, 0o600]);
    expect((await run(...args)).stderr).toContain('--force');
    const before = readFileSync(join(line.folder, 'cert.pem'), 'utf8');
    rmSync(join(line.folder, 'key.pem'));
    expect((await run(...args)).stderr).toContain('--cert-file: cannot write cert.pem: the file exists');
    expect(existsSync(join(line.folder, 'key.pem'))).toBe(false);
    expect(readFileSync(join(line.folder, 'cert.pem'), 'utf8')).toBe(before);
    expect((await run(...args, '--key-file', './cert.pem', '--force')).code).toBe(2);
    for (const option of ['--overwrite', '--force']) expect((await run(...args, option)).code).toBe(0);
    for (const hostname of ['a b', 'https://global', '*.*.example'])
      expect(await run(...args.slice(0, -1), hostname, '--force')).toMatchObject({
        code: 2,
        stderr: expect.stringContaining(`--hostname: "${hostname}" is no IP address and no DNS name`) as string,
      });
    const [cert, key] = ['cert.pem', 'key.pem'].map((file) => readFileSync(join(line.folder, file)));
    const server = createServer({ cert, key }, (_request, response) => response.end('{"product":"Meridian","version":"1"}'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    try {
      const address = `https://localhost:${String((server.address() as AddressInfo).port)}`;
      const trusting = await run('version', '-a', '--address', address, '--ca-cert-file', 'cert.pem');
      expect(trusting).toMatchObject({ code: 0, stdout: expect.stringContaining(`Meridian 1 at ${address}`) as string });
      const other = await run('version', '-a', '--address', address);
      expect([other.code, other.stderr]).toEqual([4, expect.stringContaining('--ca-cert-file')]);
    } finally {
      server.close();
    }
  });
});

describe('token revoke', () => {
  const issue = async (...args: string[]): Promise<string> => (await run('generate', ...args, '--valid-for', '1h')).stdout;
  const revokedIds = async (...list: string[]): Promise<string> => {
    const { stdout } = await run('get', ...list, '-o', 'json');
    return Buffer.from((JSON.parse(stdout) as { data: string }).data, 'base64').toString();
  };
  /** Of a call that came through a proxy: one from this machine is that of an admin. */
  const statusOf = async (token: string): Promise<number> => {
    const headers = { authorization: `Bearer ${token}`, 'x-forwarded-for': '192.0.2.1' };
    return (await fetch(`${line.address}/meshes`, { headers })).status;
  };
  const idOf = (token: string): string => (claimsOf(token) as { jti: string }).jti;

  it('refuses the token of a file from then on, and keeps other tokens', async () => {
    const [first, second] = [await issue('user-token', '--name', 'jo'), await issue('user-token', '--name', 'mo')];
    await line.write('jo.token', `${first}\n`);
    expect(await statusOf(first)).toBe(200);
    const revoked = await run('token', 'revoke', 'jo.token');
    expect(revoked).toMatchObject({ code: 0, stdout: `token of user jo ${idOf(first)} is revoked at ${line.address}\n` });
    expect(revoked.stdout).not.toContain(first.split('.')[2]);
    await expect.poll(() => statusOf(first), WAIT).toBe(401);
    expect(await statusOf(second)).toBe(200);
    expect((await run('token', 'revoke', 'jo.token')).stdout).toContain('was already revoked');
    expect((await line.run(['token', 'revoke', '-'], { input: second })).code).toBe(0);
    expect(await revokedIds('globalsecret', 'user-token-revocations')).toBe(`${idOf(first)},${idOf(second)}`);
  });

  it('changes nothing for a user token that another control plane signed', async () => {
    await line.write('elsewhere.pem', (await run('generate', 'signing-key', '--format', 'pem')).stdout);
    const listed = await revokedIds('globalsecret', 'user-token-revocations');
    const signed = async (kid: string): Promise<string> => {
      const args = ['user-token', '--name', 'jo', '--signing-key-path', 'elsewhere.pem', '--kid', kid, '--out', `${kid}.token`];
      return await issue(...args);
    };
    await signed('1');
    const refused = await run('token', 'revoke', '1.token');
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toMatch(/has not signed the token of user jo, .*nothing was changed.*--kind user --id/);
    expect(await revokedIds('globalsecret', 'user-token-revocations')).toBe(listed);
    await signed('7');
    const unknown = await run('token', 'revoke', '7.token');
    expect([unknown.code, unknown.stderr]).toEqual([
      0,
      expect.stringContaining('Only the control plane that issued a user token'),
    ]);
  });

  it('knows the list of each kind of token', async () => {
    await line.write('zone.token', await issue('zone-token', '--zone', 'east'));
    await line.write('dp.token', await issue('dataplane-token', '--mesh', 'shop', '--name', 'web'));
    expect((await run('token', 'revoke', 'zone.token')).stdout).toMatch(/^token of zone east \S+ is revoked/);
    expect((await run('token', 'revoke', 'dp.token')).stdout).toMatch(/^dataplane token of mesh shop \S+ is revoked/);
    expect((await run('token', 'revoke', '--kind', 'zone', '--id', 'lost')).code).toBe(0);
    expect(await revokedIds('globalsecret', 'zone-token-revocations')).toMatch(/^[\w-]+,lost$/);
    expect(await revokedIds('secret', 'dataplane-token-revocations-shop', '--mesh', 'shop')).toMatch(/^[\w-]+$/);
  });

  it('names what is missing, and quotes nothing of a file', async () => {
    await line.write('no.token', 'hush');
    const said = async (more: string[], code: number, text: string): Promise<void> => {
      const outcome = await run('token', 'revoke', ...more);
      expect([outcome.code, outcome.stdout, outcome.stderr]).toEqual([code, '', expect.stringContaining(text)]);
      expect(outcome.stderr).not.toContain('hush');
    };
    await said([], 2, 'give the file of a token, or --id and --kind');
    await said(['--id', 'a'], 2, 'give the file of a token, or --id and --kind');
    await said(['--id', 'a,b', '--kind', 'zone'], 2, 'an id has no comma');
    await said(['none.token'], 1, 'none.token cannot be read (ENOENT)');
    await said(['no.token'], 1, 'no.token holds no JSON Web Token');
  });
});

function claimsOf(token: string): unknown {
  expect(token).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+$/);
  return JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8'));
}

describe('config control-planes', () => {
  it('stores control planes by name', async () => {
    const env = { MERIDIAN_ADDRESS: '' };
    const config = async (...args: string[]): Promise<Outcome> => line.run(['config', 'control-planes', ...args], { env });
    expect((await config('add', 'local', '--address', line.address)).stdout).toContain('is Meridian');
    expect((await config('add', '--name', 'away', '--address', 'http://127.0.0.1:1')).code).toBe(4);
    await config('add', '--name', 'away', '--address', 'http://127.0.0.1:1', '--skip-check', '--token', 'secret-token');
    const listed = await config('list', '-o', 'yaml');
    expect(listed.stdout).toContain('current: away');
    expect(listed.stdout).not.toContain('secret-token');
    expect(statSync(join(line.folder, '.meridian/config.yaml')).mode & 0o777).toBe(0o600);
    expect((await line.run(['get', 'meshes'], { env })).code).toBe(4);
    expect((await line.run(['get', 'meshes', '--context', 'local'], { env })).code).toBe(0);
    expect((await run('get', 'meshes')).code).toBe(0);
    expect((await config('use', 'local')).code).toBe(0);
    expect((await line.run(['get', 'meshes'], { env })).code).toBe(0);
    expect((await config('remove', 'away')).code).toBe(0);
    expect((await config('list')).stdout).toMatch(/^\* +local +http/m);
    expect((await config('use', 'away')).code).toBe(2);
  });
});

describe('other commands', () => {
  it('completes words in bash', async () => {
    const { stdout } = await run('completion', 'bash');
    expect(stdout).toContain('complete -o default -F _meridian meridian');
    expect((await line.runProcess(['__complete', 'get', 'meshht'])).stdout).toBe('meshhttproutes\n');
    expect((await run('completion', 'tcsh')).code).toBe(2);
  });

  it('shows the version of the command and of the control plane', async () => {
    const { stdout } = await run('version', '-a');
    expect(stdout).toMatch(/^Meridian \S+\nMeridian \S+ at http\S+, global\n$/);
  });

  it('lists commands, options and exit codes after a usage error', async () => {
    expect((await line.runProcess(['frobnicate'])).code).toBe(2);
    const { code, stdout } = await run('--help');
    expect(code).toBe(0);
    expect(stdout).toContain('Exit codes:');
    expect(stdout).toContain('5  `meridian diff` found differences');
  });

  it('names the address of an unreachable database', async () => {
    const flags = ['--store', 'postgres', '--set', 'store.postgres.host=127.0.0.1', '--set', 'store.postgres.port=1'];
    const { code, stderr } = await line.runProcess(['migrate', 'up', ...flags]);
    expect(stderr).toMatch(
      /^meridian: cannot reach PostgreSQL at 127\.0\.0\.1:1 \(store\.postgres\.host, \.port\): .+; is it running\?$/m,
    );
    expect(code).toBe(4);
  });

  it('refuses to start a zone with missing files, and names their keys', async () => {
    const store = ['--store-path', join(line.folder, 'zone/pg'), '--token-file', 'none.token'];
    const global = ['--global-address', 'grpcs://127.0.0.1:1', '--set', 'multizone.zone.kds.rootCaFile=none.pem'];
    const { code, stderr } = await line.runProcess(['zone', 'run', ...store, ...global]);
    expect(stderr).toMatch(/multizone\.zone\.kds\.rootCaFile: .*none\.pem cannot be read \(ENOENT\); .*tokenFile: .*none\.token/);
    expect(code).toBe(1);
  });

  it('prints the state of a store that does not exist, and creates nothing', async () => {
    const path = join(line.folder, 'missing/pg');
    const { code, stdout, stderr } = await line.runProcess(['migrate', 'status', '--store-path', path]);
    expect([code, stderr]).toEqual([0, `the embedded store in ${path} does not exist yet\n`]);
    expect(stdout).toMatch(/^0001_resources\.sql +not yet$/m);
    expect(existsSync(join(line.folder, 'missing'))).toBe(false);
  });

  it('prints the state of a store, and migrates it', async () => {
    const store = ['--store-path', join(line.folder, 'other/pg')];
    const { code, stdout } = await line.runProcess(['migrate', 'up', ...store]);
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^applied 0001.* to the embedded store in \S+other\/pg\n$/)]);
    expect((await line.runProcess(['migrate', 'status', ...store])).stdout).toContain('0001');
    expect(readdirSync(join(line.folder, 'other'))).toEqual(['pg']);
    for (const folder of ['other', 'other/pg']) expect(statSync(join(line.folder, folder)).mode & 0o777).toBe(0o700);
  });
});
