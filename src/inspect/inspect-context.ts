// The common part of the inspect endpoints: the index of the requested mesh, and the proxy, policy or service in it.
// Invariant: a missing resource is a 404 that names it; an invalid KRI is a 400.
import { ApiError, badQuery, missingResource } from '../http/error-body.ts';
import type { ApiContext } from '../api/api-options.ts';
import { meshType } from '../api/route-types.ts';
import type { DataplaneProxy } from '../policy/dataplane-proxy.ts';
import type { MeshIndex } from '../policy/mesh-index.ts';
import type { Outbound } from '../policy/outbounds.ts';
import { outboundsOf } from '../policy/proxy-outbounds.ts';
import { parseKri } from '../resource/kri.ts';
import type { ResourceKey } from '../resource/types.ts';
import type { MeshIndexes } from '../mesh-index/mesh-indexes.ts';

/** `zone`: the name of this zone; null on global. */
export type InspectContext = Pick<ApiContext, 'service' | 'store' | 'insights'> & {
  readonly indexes: MeshIndexes;
  readonly zone: string | null;
};

/** @property outbounds those that the proxy has */
export type InspectedProxy = {
  readonly index: MeshIndex;
  readonly proxy: DataplaneProxy;
  readonly outbounds: () => readonly Outbound[];
};

const TITLE = 'Could not retrieve a resource';
const NO_DATAPLANE = 'Could not retrieve Dataplane';

/** @throws ApiError 404 when there is no such mesh */
export async function indexOf({ service, indexes }: InspectContext, mesh: string): Promise<MeshIndex> {
  await service.get(meshType, '', mesh, 'Failed to retrieve Mesh');
  return await indexes.indexOf(mesh);
}

/** A Dataplane by its stored name. @throws ApiError 404 with the title */
export async function proxyOf(
  context: InspectContext,
  { mesh, name }: Omit<ResourceKey, 'type'>,
  title = NO_DATAPLANE,
): Promise<InspectedProxy> {
  const index = await indexOf(context, mesh);
  const proxy = index.proxy(name);
  if (proxy === undefined) throw missingResource({ type: 'Dataplane', mesh, name }, title);
  return { index, proxy, outbounds: () => outboundsOf(index, proxy) };
}

/** @throws ApiError 404 without an answer: `what` names the missing object or part of one, `title` is for kumactl */
export function required<T>(answer: T | null | undefined, what: string | ResourceKey, title = TITLE): T {
  if (answer !== null && answer !== undefined) return answer;
  throw typeof what === 'string' ? new ApiError('not_found', title, `Not found: ${what}`) : missingResource(what, title);
}

/** @throws ApiError 400 for a text other than a KRI of this mesh */
export function requireKri(text: string, mesh: string): string {
  if (parseKri(text, mesh) !== null) return text;
  const form = `kri_<short name of a type>_${mesh}_<zone>_<namespace>_<name>_<section>`;
  throw badQuery('kri', `${JSON.stringify(text)} is not the KRI of a resource of this mesh: it must have the form ${form}`);
}
