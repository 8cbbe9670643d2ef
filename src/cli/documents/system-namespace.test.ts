// Objects of the system namespace, before a global that has their resources with the namespace, without it, or not at all.
import { describe, expect, it } from 'vitest';
import { MeridianError } from '../../base/errors.ts';
import { label } from '../../resource/labels.ts';
import type { TypeInfo } from '../../resource/type-registry.ts';
import type { Item } from '../client/api-client.ts';
import { parseDocuments } from './read-files.ts';
import { inSystemNamespace } from './system-namespace.ts';

const LABELS = { [label.namespace]: 'kuma-system', [label.displayName]: 'a.b' };

function document(name: string, more = ''): string {
  return `apiVersion: kuma.io/v1alpha1\nkind: MeshTimeout\nmetadata: { name: ${name}, namespace: kuma-system, labels: { kuma.io/mesh: shop${more} } }\nspec: {}\n`;
}

/** A control plane that has these resources, and the lists that were read. */
function clientWith(...items: Item[]): { list: (info: TypeInfo, mesh: string | undefined) => Promise<Item[]>; read: string[] } {
  const read: string[] = [];
  return { read, list: (info, mesh) => Promise.resolve((read.push(`${info.name} ${mesh ?? ''}`), items)) };
}

async function namesOf(text: string, client: Parameters<typeof inSystemNamespace>[0]): Promise<unknown[]> {
  const documents = await inSystemNamespace(client, parseDocuments([{ name: 'a.yaml', text }], 'default'));
  return documents.map(({ name, body }) => [name, (body['labels'] as Record<string, string>)[label.namespace]]);
}

describe('an object of the system namespace', () => {
  const imported: Item = { type: 'MeshTimeout', mesh: 'shop', name: 'a.b.kuma-system', labels: LABELS };

  it('is the resource that the global has with this namespace; its name is the stored one', async () => {
    const client = clientWith(imported);
    const text = `${document('a.b')}---\n${document('new')}`;
    expect(await namesOf(text, client)).toEqual([
      ['a.b.kuma-system', 'kuma-system'],
      ['new', undefined],
    ]);
    expect(client.read).toEqual(['MeshTimeout shop']);
  });

  it('is one without a namespace elsewhere, also in a mesh that does not exist yet', async () => {
    expect(await namesOf(document('a.b'), clientWith())).toEqual([['a.b', undefined]]);
    const list = (): Promise<Item[]> => Promise.reject(new MeridianError('not_found', 'there is no mesh "shop"'));
    expect(await namesOf(document('a.b'), { list })).toEqual([['a.b', undefined]]);
  });

  it('is asked about only where its labels leave it open', async () => {
    const client = clientWith(imported);
    expect(await namesOf(document('a', ', k8s.kuma.io/namespace: kuma-system'), client)).toEqual([['a', 'kuma-system']]);
    expect(await namesOf('type: MeshTimeout\nmesh: shop\nname: a\nlabels: {}\nspec: {}\n', client)).toEqual([['a', undefined]]);
    expect(client.read).toEqual([]);
  });

  it('fails as the list of the control plane fails', async () => {
    const list = (): Promise<Item[]> => Promise.reject(new MeridianError('unavailable', 'it is away'));
    await expect(namesOf(document('a'), { list })).rejects.toThrow('it is away');
  });
});
