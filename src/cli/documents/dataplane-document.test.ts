import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { fillIn, readDataplane, readVariables } from './dataplane-document.ts';

const DATAPLANE = `type: Dataplane
mesh: shop
name: "{{ name }}"
labels:
  app: cart
networking:
  address: {{address}}
  inbound:
    - port: 8080
      name: http
`;
const VARIABLES = new Map([
  ['name', 'cart-1'],
  ['address', '10.0.0.7'],
]);

async function read(text: string, variables: ReadonlyMap<string, string> = VARIABLES): ReturnType<typeof readDataplane> {
  const folder = await mkdtemp(join(tmpdir(), 'meridian-document-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, 'dataplane.yaml');
  await writeFile(file, text);
  return await readDataplane(file, variables);
}

describe('the Dataplane of a file', () => {
  it('is read with its variables, in the form in which it is stored', async () => {
    expect(await read(DATAPLANE)).toEqual({
      mesh: 'shop',
      name: 'cart-1',
      storedName: 'cart-1',
      document: {
        type: 'Dataplane',
        mesh: 'shop',
        name: 'cart-1',
        labels: { app: 'cart' },
        networking: { address: '10.0.0.7', inbound: [{ port: 8080, name: 'http' }] },
      },
      warnings: [],
    });
  });

  it('is read with a warning for each key of Kuma 2.x, without the key', async () => {
    const { document, warnings } = await read(`${DATAPLANE}metrics: { type: prometheus }\n`);
    expect(document).not.toHaveProperty('metrics');
    expect(warnings).toEqual(['metrics: is a key of Kuma 2.x and has no effect; write a MeshMetric']);
  });

  it.each([
    ['an unknown key', 'name: http\n', 'name: http\n      portt: 1\n', /dataplane\.yaml:11:7: .*portt\s+is not a known key/],
    ['a bad value', 'port: 8080', 'port: 808080', /dataplane\.yaml:9:7: .*inbound\[0\]\.port\s+must be/],
    ['a bad address', '{{address}}', 'not a host', /dataplane\.yaml:7:3: .*networking\.address/],
    ['a bad protocol', 'name: http\n', 'name: http\n      protocol: smtp\n', /dataplane\.yaml:11:7: .*protocol\s+must be one of/],
    ['no mesh', 'mesh: shop\n', '', /mesh: must be given/],
    [
      'a variable without a value',
      'cart',
      '{{ app }}',
      /dataplane\.yaml:5: \{\{ app \}\} has no value; give it with --dataplane-var app=/,
    ],
  ])('is refused with %s, by place and field', async (_, from, to, message) => {
    await expect(read(DATAPLANE.replace(from, to))).rejects.toThrow(message);
  });

  it('must be a Dataplane, and alone', async () => {
    await expect(read('type: Mesh\nname: shop\n')).rejects.toThrow(/dataplane\.yaml:1: must be a Dataplane, and is a Mesh/);
    await expect(read(`${DATAPLANE}---\n${DATAPLANE}`)).rejects.toThrow('must hold one Dataplane and nothing else');
    await expect(read('')).rejects.toThrow('must hold one Dataplane and nothing else');
    await expect(readDataplane('/none/dataplane.yaml', VARIABLES)).rejects.toThrow('/none/dataplane.yaml: no such file');
  });
});

describe('variables', () => {
  it('stand for their values as they are, in two or three braces', () => {
    const text = 'a: {{ x }}\nb: {{{x}}}\nc: {{ x }}{{y}}\n';
    const variables = new Map([
      ['x', '<&>'],
      ['y', '$1 {{ x }}'],
    ]);
    expect(fillIn({ name: 'f', text }, variables)).toBe('a: <&>\nb: <&>\nc: <&>$1 {{ x }}\n');
  });

  it('are NAME=VALUE on one line', () => {
    expect(readVariables(['a=1', 'b=x=y', 'c='])).toEqual(
      new Map([
        ['a', '1'],
        ['b', 'x=y'],
        ['c', ''],
      ]),
    );
    for (const bad of ['a', '=1', 'a=1\nb: 2']) expect(() => readVariables([bad])).toThrow('must be NAME=VALUE on one line');
  });
});
