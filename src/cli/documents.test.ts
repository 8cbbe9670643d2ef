import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readDocuments } from './documents.ts';

function folderWith(files: Record<string, string>): string {
  const folder = mkdtempSync(join(tmpdir(), 'meridian-documents-'));
  mkdirSync(join(folder, 'deep'));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

describe('documents', () => {
  it('come from all files of a folder, Meshes first, in the given mesh unless they name one', async () => {
    const folder = folderWith({
      'a.yaml': 'type: MeshTimeout\nname: t\nspec: {}\n---\n# nothing\n---\ntype: MeshRetry\nname: r\nmesh: other\nspec: {}',
      'deep/z.json': '{"type":"Mesh","name":"shop"}',
      'notes.txt': 'not a resource',
    });
    const documents = await readDocuments([folder], 'shop');
    expect(documents.map(({ info, mesh, name }) => [info.name, mesh, name])).toEqual([
      ['Mesh', '', 'shop'],
      ['MeshTimeout', 'shop', 't'],
      ['MeshRetry', 'other', 'r'],
    ]);
  });

  it('are taken in Kubernetes form (decisions D5)', async () => {
    const text =
      'apiVersion: kuma.io/v1alpha1\nkind: MeshTimeout\nmetadata:\n  name: t\n  namespace: shop-ns\n  labels: { kuma.io/mesh: shop, team: a }\nspec: { targetRef: { kind: Mesh } }';
    const [document] = await readDocuments([folderWith({ 'k.yaml': text })], 'default');
    expect(document?.body).toEqual({
      type: 'MeshTimeout',
      name: 't',
      mesh: 'shop',
      labels: { team: 'a', 'k8s.kuma.io/namespace': 'shop-ns' },
      spec: { targetRef: { kind: 'Mesh' } },
    });
  });

  it('name every document at fault by file and line', async () => {
    const folder = folderWith({
      'bad.yaml': 'type: Mesh\nname: ok\n---\ntype: Nothing\nname: x\n---\nname: y\n',
      'broken.yaml': 'a: [1',
    });
    await expect(readDocuments([folder], 'default')).rejects.toThrow(
      /bad\.yaml:4: type: "Nothing"[^]*bad\.yaml:7: type: must be given[^]*broken\.yaml:1/,
    );
  });
});
