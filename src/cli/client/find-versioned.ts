// Finds the resource whose versions a command names: as `findOne`, and a deleted one under its stored name.
import { MeridianError } from '../../base/errors.ts';
import type { TypeInfo } from '../../resource/type-registry.ts';
import type { ApiClient } from './api-client.ts';
import { findOne } from './find.ts';

type Versioned = { readonly info: TypeInfo; readonly mesh: string; readonly name: string };

/** @throws UsageError if several have the display name */
export async function findVersioned(
  client: ApiClient,
  info: TypeInfo,
  {
    mesh,
    namespace,
    name,
    command,
  }: { readonly mesh: string; readonly namespace?: string | undefined; readonly name: string; readonly command: string },
): Promise<Versioned> {
  try {
    const found = await findOne(client, info, mesh, name, { command: `${command} ${info.name}`, namespace });
    return { info, mesh: found.mesh ?? '', name: found.name };
  } catch (error) {
    if (!(error instanceof MeridianError) || error.code !== 'not_found') throw error;
    return { info, mesh: info.scope === 'Mesh' ? mesh : '', name };
  }
}
