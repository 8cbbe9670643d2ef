// `GET /_kri/{kri}`: one resource by its identifier, which is the same on every control plane (rest-api 2.2).
// Invariant: the returned resource has exactly the requested KRI, apart from the section.
import type { FastifyInstance } from 'fastify';
import { hashName } from '../resource/hash-name.ts';
import { kriOf } from '../resource/kri.ts';
import { label } from '../resource/labels.ts';
import { resourceTypes, type TypeInfo } from '../resource/type-registry.ts';
import type { Resource } from '../resource/types.ts';
import type { ResourceStore } from '../store/resource-store.ts';
import type { ApiContext } from './api-options.ts';
import { ApiError, missingResource } from '../http/error-body.ts';
import { toSystemNamespace } from '../document/kubernetes-form.ts';
import { queryOf, wantsKubernetes } from '../http/list-query.ts';
import { etagOf } from '../http/entity-tag.ts';
import { about } from '../http/route-config.ts';
import { toUniversal } from '../document/universal-form.ts';

type ParsedKri = {
  readonly info: TypeInfo;
  readonly mesh: string;
  readonly zone: string;
  readonly namespace: string;
  readonly name: string;
  readonly section: string;
};

const byShortName = new Map(resourceTypes.flatMap((info) => (info.shortName === null ? [] : [[info.shortName, info] as const])));

export function addKriRoutes(app: FastifyInstance, { store, callers }: ApiContext): void {
  const one = about('Resources', 'One resource by its KRI', { query: ['format'], showsKeys: 'admins' });
  app.get<{ Params: { kri: string } }>('/_kri/:kri', one, async (request, reply) => {
    const kri = parseKri(request.params.kri);
    const inKubernetesForm = wantsKubernetes(queryOf(request));
    callers.requireMay(kri.info, request);
    const row = await findByKri(store, kri);
    // The text also names a zone and a namespace.
    if (row === undefined) throw missingResource({ ...kri, type: kri.info.name }, undefined, request.params.kri);
    reply.header('etag', etagOf(row));
    return inKubernetesForm ? toSystemNamespace(kri.info, row) : toUniversal(kri.info, row);
  });
}

/** @throws ApiError 400 */
export function parseKri(text: string): ParsedKri {
  const [prefix, short = '', mesh = '', zone = '', namespace = '', name = '', section = '', ...more] = text.split('_');
  const info = byShortName.get(short);
  const isWhole = prefix === 'kri' && text.split('_').length === 7 && more.length === 0 && name !== '';
  if (isWhole && info !== undefined && (mesh !== '') === (info.scope === 'Mesh'))
    return { info, mesh, zone, namespace, name, section };
  const form = 'kri_<short name of a type>_<mesh>_<zone>_<namespace>_<name>_<section>';
  throw new ApiError('bad_request', 'Bad Request', `not a KRI: it must have the form ${form}`);
}

/** Finds the row by its possible names: the original name on its own control plane, the hashed name elsewhere, else by its labels. */
async function findByKri(store: ResourceStore, kri: ParsedKri): Promise<Resource | undefined> {
  const { info, mesh, zone, namespace, name } = kri;
  const wanted = ['kri', info.shortName, mesh, zone, namespace, name, ''].join('_');
  const hasKri = (row: Resource): boolean => kriOf(row) === wanted;
  const local = namespace === '' ? name : `${name}.${namespace}`;
  const names = [...new Set([local, name, hashName({ mesh, name, zone, namespace })])];
  const named = await store.getMany(names.map((one) => ({ type: info.name, mesh, name: one })));
  const found = named.find(hasKri);
  if (found !== undefined) return found;
  const labels = {
    [label.displayName]: name,
    ...(zone !== '' && { [label.zone]: zone }),
    ...(namespace !== '' && { [label.namespace]: namespace }),
  };
  return (await store.list({ type: info.name, mesh, labels })).find(hasKri);
}
