// From what a person types to one resource: a type by any of its names, an object by stored or display name (decisions D3).
import { MeridianError } from '../base/errors.ts';
import { label } from '../resource/labels.ts';
import { findTypeByAnyName, resourceTypes, type TypeInfo } from '../resource/type-registry.ts';
import type { ApiClient, Item } from './api-client.ts';

/** @throws MeridianError that lists the types */
export function requireType(text: string): TypeInfo {
  const info = findTypeByAnyName(text);
  if (info !== undefined && info.path !== '') return info;
  const known = resourceTypes
    .filter(({ path }) => path !== '')
    .map(({ path, shortName }) => (shortName === null ? path : `${path} (${shortName})`));
  throw new MeridianError('invalid', `${JSON.stringify(text)} is no resource type. Known types:\n  ${known.join('\n  ')}`);
}

/**
 * The one object of that stored name, else of that display name.
 * @throws MeridianError `not_found`, or `invalid` with a list when several have the display name
 */
export async function findOne(client: ApiClient, info: TypeInfo, mesh: string, name: string): Promise<Item> {
  const stored = await client.get(info, mesh, name);
  if (stored !== undefined) return stored;
  const named = await client.list(info, info.scope === 'Mesh' ? mesh : undefined, {
    [`filter[labels.${label.displayName}]`]: name,
  });
  const [only, ...others] = named;
  if (only !== undefined && others.length === 0) return only;
  if (only === undefined) {
    const where = info.scope === 'Mesh' ? ` in mesh ${JSON.stringify(mesh)}` : '';
    throw new MeridianError(
      'not_found',
      `there is no ${info.name} ${JSON.stringify(name)}${where}; \`meridian get ${info.path}\` lists what there is`,
    );
  }
  const names = named.map(
    (item) => `  ${item.name}   zone: ${item.labels?.[label.zone] ?? '-'}   namespace: ${item.labels?.[label.namespace] ?? '-'}`,
  );
  throw new MeridianError(
    'invalid',
    `several have the display name ${JSON.stringify(name)}; name one by its stored name:\n${names.join('\n')}`,
  );
}
