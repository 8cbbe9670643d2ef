// `meridian import kuma-kubernetes` as a person runs it: on files, on a cluster, and into a store.
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runMeridian, type Outcome } from '../support/run-meridian.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { DUMP_FILES } from './kubernetes-global.ts';

const FILES = DUMP_FILES.flatMap((file) => ['-f', file]);

async function run(...args: string[]): Promise<Outcome> {
  return await runMeridian(['import', 'kuma-kubernetes', ...args]);
}

async function kindsOf(): Promise<string> {
  const { stderr } = await run(...FILES, '--check');
  return /--accept (\S+)/.exec(stderr)?.[1] ?? '';
}

describe('meridian import kuma-kubernetes --check', () => {
  it('prints what would be stored, left out, converted and lost, and what zones see, and fails', async () => {
    const { code, stdout, stderr } = await run(...FILES, '--check', '--zone', 'west=3.x');
    expect(code).toBe(1);
    expect(stdout).toMatch(/^12 +MeshTimeout +default\/dots\.in\.name\.kuma-system/m);
    expect(stdout).toMatch(/^24 +it is a copy of a zone, which sends it again +Dataplane\/default\/dp-1/m);
    expect(stdout).toMatch(/^1 +spec\.from: rules +MeshTimeout\/default\/from$/m);
    expect(stdout).toMatch(/^Mesh\/m3 +mtls +zones get the resource without it +write a MeshIdentity/m);
    expect(stdout).toMatch(/^Kuma 3\.x +west +36 +5 +2 +3$/m);
    expect(stderr).toContain('--accept ExternalService,Mesh.meshServices,');
  });

  it('shows no spec of a Secret to a program', async () => {
    const { stdout } = await run(...FILES, '--check', '-o', 'json');
    const answer = JSON.parse(stdout) as { stored: boolean; imported: object[] };
    expect(answer.stored).toBe(false);
    expect(answer.imported).toContainEqual({ type: 'GlobalSecret', mesh: '', name: 'admin-user-token' });
    expect(stdout).not.toContain('"data"');
  });

  it.each([
    ['no source', [], /give the dump with -f, or --kubeconfig/],
    ['two sources', ['-f', 'a.yaml', '--kubeconfig', 'b'], /give the dump with -f, or --kubeconfig/],
    ['a zone of no kind', ['-f', 'a.yaml', '--zone', 'east=4'], /It must be ZONE=KIND, where the kind is 2\.x, 3\.x, meridian/],
  ])('refuses %s', async (_, args, message) => {
    const { code, stderr } = await run(...args);
    expect([code, stderr]).toEqual([2, expect.stringMatching(message)]);
  });
});

describe('an import', () => {
  it('stores nothing while something is lost, and everything when each loss is accepted by name', async () => {
    const folder = join(temporaryFolder(), 'store');
    const refused = await run(...FILES, '--store-path', folder);
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('nothing is stored')]);
    const accepted = await run(...FILES, '--store-path', folder, '--accept', await kindsOf());
    expect([accepted.code, accepted.stderr]).toEqual([0, expect.stringContaining('48 rows are stored')]);
    const again = await run(...FILES, '--store-path', folder, '--accept', await kindsOf());
    expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('import into one that is new')]);
  });
});

describe('--kubeconfig', () => {
  /** A kubectl that answers as the cluster of the dump, or fails. */
  function kubectl(script: string): NodeJS.ProcessEnv {
    const folder = temporaryFolder();
    const file = join(folder, 'kubectl');
    writeFileSync(file, `#!/bin/sh\n${script}\n`);
    chmodSync(file, 0o755);
    return { ...process.env, PATH: `${folder}:${process.env['PATH'] ?? ''}` };
  }

  it('reads the cluster with kubectl', async () => {
    const folder = temporaryFolder();
    for (const [index, file] of DUMP_FILES.entries()) writeFileSync(join(folder, `${String(index)}.yaml`), readFileSync(file));
    const env = kubectl(`shift 2
case "$*" in
  "api-resources --api-group=kuma.io --verbs=list -o name") echo meshes.kuma.io; echo zones.kuma.io;;
  "get meshes.kuma.io,zones.kuma.io --all-namespaces -o json") cat ${folder}/0.yaml;;
  "get secrets -n mesh-system -o json") cat ${folder}/1.yaml;;
  "get configmap/kuma-cluster-id -n mesh-system -o json") echo '{}' | sed 's/{}/{"apiVersion":"v1","kind":"List","items":[]}/';;
  *) echo "unexpected: $*" >&2; exit 1;;
esac`);
    const args = [
      'import',
      'kuma-kubernetes',
      '--kubeconfig',
      'config',
      '--system-namespace',
      'mesh-system',
      '--check',
      '-o',
      'json',
    ];
    const { stdout, stderr } = await runMeridian(args, { env });
    expect(stderr).toBe('');
    expect((JSON.parse(stdout) as { imported: object[] }).imported).toHaveLength(48);
  });

  it.each([
    ['what kubectl says', 'echo "the server is away" >&2; exit 1', 4, /kubectl failed: the server is away/],
    ['a cluster without Kuma', 'exit 0', 1, /has no resources of kuma\.io/],
  ])('reports %s', async (_, script, expected, message) => {
    const { code, stderr } = await runMeridian(['import', 'kuma-kubernetes', '--kubeconfig', 'config'], { env: kubectl(script) });
    expect([code, stderr]).toEqual([expected, expect.stringMatching(message)]);
  });

  it('reports that there is no kubectl', async () => {
    const env = { ...process.env, PATH: temporaryFolder() };
    const { code, stderr } = await runMeridian(['import', 'kuma-kubernetes', '--kubeconfig', 'config'], { env });
    expect([code, stderr]).toEqual([1, expect.stringContaining('there is no kubectl on this machine')]);
  });
});
