// A stored row, for tests without a store.
import { typeOf } from '../../src/resource/type-registry.ts';
import type { Resource } from '../../src/resource/types.ts';

/** The defaults: an empty local row with time 0, of mesh `default` if its type has a mesh. */
export function makeRow(type: string, name: string, fields: Partial<Omit<Resource, 'type' | 'name'>> = {}): Resource {
  const time = new Date(0);
  return {
    type,
    mesh: typeOf(type).scope === 'Mesh' ? 'default' : '',
    name,
    labels: {},
    spec: {},
    status: {},
    version: 0,
    creationTime: time,
    modificationTime: time,
    owner: null,
    syncVersion: null,
    ...fields,
  };
}
