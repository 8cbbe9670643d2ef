// What this control plane is, and which types it has: asked once for each user.
import type { Answer } from '../../src/api/answers.ts';
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

export async function index(signal: AbortSignal): Promise<Answer<'Index'>> {
  return await get<Answer<'Index'>>('/', signal);
}

/** The path of a resource in the REST API. */
export function apiPath({ path, scope }: Pick<TypeInfo, 'path' | 'scope'>, mesh: string, name: string): string {
  const prefix = scope === 'Mesh' ? `/meshes/${encodeURIComponent(mesh)}` : '';
  return `${prefix}/${path}/${encodeURIComponent(name)}`;
}

/** The place of a resource in the page. Types outside of meshes have `-` there. */
export function placeOf(path: string, mesh: string | undefined, name: string): readonly string[] {
  return ['resources', path, mesh === undefined || mesh === '' ? '-' : mesh, name];
}
