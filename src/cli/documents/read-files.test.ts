import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { readDocuments } from './read-files.ts';

function folderWith(files: Record<string, string>): string {
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'deep'));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

describe('documents', () => {
  it('are read from all files of a folder, Meshes first, in the given mesh unless they name one', async () => {
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

  it('are accepted in Kubernetes form (D5)', async () => {
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

  describe('of a folder of Kubernetes', () => {
    const text =
      'apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata: { name: settings }\n' +
      '- apiVersion: kuma.io/v1alpha1\n  kind: Mesh\n  metadata: { name: shop, uid: a, managedFields: [] }\n' +
      '---\napiVersion: apps/v1\nkind: Deployment\nmetadata: { name: web }\n';
    const foreign = ['a.yaml:4: ConfigMap settings', 'a.yaml:11: Deployment web'];

    it('are read without the objects of other products, which have a line each', async () => {
      const lines = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
      const documents = await readDocuments([folderWith({ 'a.yaml': text })], 'default');
      expect(documents.map(({ info, name }) => [info.name, name])).toEqual([['Mesh', 'shop']]);
      const told = lines.mock.calls.map(([line]) => String(line).trim());
      lines.mockRestore();
      expect(told).toEqual(
        foreign.map((one) => expect.stringContaining(`${one} is no resource of a mesh; it is left out`) as string),
      );
    });

    it('are read once from the volume of a ConfigMap, which has each file a second time', async () => {
      const folder = folderWith({});
      mkdirSync(join(folder, '..2026_11_28'));
      writeFileSync(join(folder, '..2026_11_28', 'mesh.yaml'), 'type: Mesh\nname: shop\n');
      symlinkSync('..2026_11_28', join(folder, '..data'));
      symlinkSync(join('..data', 'mesh.yaml'), join(folder, 'mesh.yaml'));
      expect((await readDocuments([folder], 'default')).map(({ name }) => name)).toEqual(['shop']);
    });

    it('are refused with each such object when they are strict', async () => {
      const reading = readDocuments([folderWith({ 'a.yaml': text })], 'default', { strict: true });
      await expect(reading).rejects.toThrow(new RegExp(foreign.join('[^]*')));
    });

    it('are refused with what does the work of a kind of Kuma 2.x', async () => {
      const old = 'apiVersion: kuma.io/v1alpha1\nkind: TrafficPermission\nmesh: shop\nmetadata: { name: a }\n';
      await expect(readDocuments([folderWith({ 'a.yaml': old })], 'default')).rejects.toThrow(
        /a\.yaml:2:1: type: .*it is one of Kuma 2\.x: write a MeshTrafficPermission/,
      );
    });
  });

  it('are refused with one position when they are not YAML', async () => {
    await expect(readDocuments([folderWith({ 'broken.yaml': 'name: t\nlist: [1' })], 'default')).rejects.toThrow(
      /broken\.yaml:2:\d+: (?!.*\b(line|column) \d)./,
    );
  });

  it.each([
    ['deep flows', '['.repeat(5000), ':1:\\d+: must not be nested deeper than 64 levels'],
    ['a cycle', 'type: Mesh\nname: m\nx: &x { y: [*x, *x] }', ':1:1\\s+must not be nested deeper than 64 levels'],
    ['NUL', 'type: Mesh\nname: m\nlabels: { a: "b\\0" }', ':3:11: labels\\.a\\s+must have neither'],
    ['half a pair', 'items:\n- type: Mesh\n  name: "\\ud800"', ':3:3: items\\[0\\].name'],
    [
      'the key of prototypes',
      'type: Mesh\nname: m\nlabels: { __proto__: x }',
      ':3:1: labels\\s+must not have the key "__proto__"',
    ],
    ['a wrong type', 'type: MeshTimout\nname: m', ':1:1: type: .* did you mean MeshTimeout\\?'],
    ['a number', 'type: Mesh\nname: 5', ':2:1: name: must be a string; quote it'],
  ])('are refused with a position before anything is sent: %s', async (_, text, said) => {
    await expect(readDocuments([folderWith({ 'a.yaml': text })], 'default')).rejects.toThrow(new RegExp(`a\\.yaml${said}`));
  });

  it('are UTF-8, without a byte order mark', async () => {
    const folder = folderWith({});
    writeFileSync(join(folder, 'good.yaml'), '\ufefftype: Mesh\nname: m\n');
    expect((await readDocuments([join(folder, 'good.yaml')], 'default')).map(({ name }) => name)).toEqual(['m']);
    writeFileSync(join(folder, 'bad.yaml'), Buffer.from('type: Mesh\nname: \xff\n', 'latin1'));
    await expect(readDocuments([folder], 'default')).rejects.toThrow(/bad\.yaml: is not UTF-8/);
  });

  it('are all named by file, line and column when several are invalid', async () => {
    const folder = folderWith({
      'bad.yaml': 'type: Mesh\nname: ok\n---\ntype: Nothing\nname: x\n---\nname: y\n',
      'broken.yaml': 'a: [1',
    });
    await expect(readDocuments([folder], 'default')).rejects.toThrow(
      /bad\.yaml:4:1: type: "Nothing"[^]*bad\.yaml:7:1: type: must be given[^]*broken\.yaml:1:/,
    );
  });

  it('know the position of their fields, in every form', async () => {
    const folder = folderWith({
      'k.yaml': 'apiVersion: kuma.io/v1alpha1\nkind: MeshTimeout\nmetadata:\n  name: t\n  labels: { team: a }\nspec:\n  to: []\n',
      'd.yaml': 'type: Dataplane\nname: d\nspec:\n  networking:\n    address: 192.0.2.1\n',
    });
    const documents = await readDocuments([folder], 'default');
    const placeOf = (type: string, field: string): string =>
      documents
        .find(({ info }) => info.name === type)
        ?.placeOf(field)
        .replace(/^.*\//, '') ?? '';
    expect(placeOf('MeshTimeout', 'name')).toBe('k.yaml:4:3');
    expect(placeOf('MeshTimeout', 'labels["team"]')).toBe('k.yaml:5:13');
    expect(placeOf('MeshTimeout', 'spec.to')).toBe('k.yaml:7:3');
    expect(placeOf('Dataplane', 'networking.address')).toBe('d.yaml:5:5');
  });

  it.each([
    ['metadata.namespace', 'labels["k8s.kuma.io/namespace"]', '5:3', '  namespace: b'],
    ['its label', 'labels["k8s.kuma.io/namespace"]', '5:13', '  labels: { k8s.kuma.io/namespace: b }\n  namespace: b'],
    ['mesh', 'mesh', '5:1', 'mesh: m'],
    ['the label of the mesh', 'mesh', '5:13', '  labels: { kuma.io/mesh: m }'],
    ['kind', 'type', '2:1', ''],
  ])('in Kubernetes form have the position of %s, as they are written', async (_, field, place, text) => {
    const written = `apiVersion: kuma.io/v1alpha1\nkind: MeshTimeout\nmetadata:\n  name: t\n${text}\nspec: { to: [] }\n`;
    const [document] = await readDocuments([folderWith({ 'k.yaml': written })], 'default');
    expect(document?.placeOf(field)).toMatch(new RegExp(`k\\.yaml:${place}$`));
  });

  it('in Kubernetes form have the position of the value of a Secret, and of its type', async () => {
    const text = (type: string): string =>
      `apiVersion: v1\nkind: Secret\nmetadata: { name: s }\ntype: ${type}\ndata:\n  value: YQ==\n`;
    const [document] = await readDocuments([folderWith({ 's.yaml': text('system.kuma.io/secret') })], 'default');
    expect(document?.placeOf('data')).toMatch(/s\.yaml:6:3$/);
    await expect(readDocuments([folderWith({ 's.yaml': text('system.kuma.io/secrets') })], 'default')).rejects.toThrow(
      /s\.yaml:4:1: type: must be/,
    );
  });

  it('in Kubernetes form may be the secrets of Kuma', async () => {
    const text =
      'apiVersion: v1\nkind: Secret\ntype: system.kuma.io/secret\nmetadata: { name: s, labels: { kuma.io/mesh: shop } }\ndata: { value: YQ== }';
    const [document] = await readDocuments([folderWith({ 's.yaml': text })], 'default');
    expect(document?.body).toEqual({ type: 'Secret', name: 's', mesh: 'shop', labels: {}, data: 'YQ==' });
  });

  it('may be items of a list, as `get -o yaml` prints it', async () => {
    const text = 'total: 2\nitems:\n  - type: Mesh\n    name: a\n  - type: MeshRetry\n    name: r\n    spec: { x: 1 }\n';
    const documents = await readDocuments([folderWith({ 'list.yaml': text })], 'default');
    expect(documents.map(({ name }) => name)).toEqual(['a', 'r']);
    expect(documents[1]?.place).toMatch(/list\.yaml:5$/);
    expect(documents[1]?.placeOf('spec.x')).toMatch(/list\.yaml:7:13$/);
  });
});
