// What this control plane is, and which types it has: asked once for each user.
import type { Answer } from '../../src/answers/answers.ts';
import { get, logins } from './session.ts';

export type TypeInfo = {
  readonly name: string;
  readonly path: string;
  readonly scope: 'Mesh' | 'Global';
  readonly shortName: string;
  readonly singularDisplayName: string;
  readonly pluralDisplayName: string;
  readonly policy?: object;
};

/** Secrets are not for eyes, and insights are parts of other pages. */
const HIDDEN = /^(?:Global)?Secret$|Insight$/;

let types: { readonly user: number; readonly answer: Promise<readonly TypeInfo[]> } | null = null;

export async function resourceTypes(): Promise<readonly TypeInfo[]> {
  if (types?.user !== logins.value)
    types = {
      user: logins.value,
      answer: get<{ resources: TypeInfo[] }>('/_resources').then(({ resources }) =>
        resources.filter(({ name }) => !HIDDEN.test(name)),
      ),
    };
  const { answer } = types;
  answer.catch(() => (types = null));
  return await answer;
}

export async function typeByPath(path: string): Promise<TypeInfo | undefined> {
  return (await resourceTypes()).find((type) => type.path === path);
}

export async function typeByName(name: string): Promise<TypeInfo | undefined> {
  return (await resourceTypes()).find((type) => type.name === name);
}

/** The names of the meshes. @throws ApiFailure */
export async function loadMeshes(signal: AbortSignal): Promise<readonly string[]> {
  return await loadNames('/meshes', 1_000, signal);
}

/** @param path of a list @param most so many names at most @throws ApiFailure */
export async function loadNames(path: string, most: number, signal: AbortSignal): Promise<readonly string[]> {
  const { items } = await get<{ items: readonly { readonly name: string }[] }>(`${path}?size=${String(most)}`, signal);
  return items.map(({ name }) => name);
}

export async function index(signal: AbortSignal): Promise<Answer<'Index'>> {
  return await get<Answer<'Index'>>('/', signal);
}

/** The path of a resource in the REST API. */
export function apiPath(type: Pick<TypeInfo, 'path' | 'scope'>, mesh: string, name: string): string {
  return `${listPath(type, mesh)}/${encodeURIComponent(name)}`;
}

/** The path of the resources of a type, in one mesh if the type has meshes. */
export function listPath({ path, scope }: Pick<TypeInfo, 'path' | 'scope'>, mesh: string): string {
  return `${scope === 'Mesh' ? `/meshes/${encodeURIComponent(mesh)}` : ''}/${path}`;
}

/** The place of a resource in the page. Types outside of meshes have `-` there. */
export function placeOf(path: string, mesh: string | undefined, name: string): readonly string[] {
  return ['resources', path, mesh === undefined || mesh === '' ? '-' : mesh, name];
}
