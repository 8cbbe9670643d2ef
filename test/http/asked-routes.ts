// The questions that a test asks a control plane to see everything that it shows: each route of its OpenAPI document with the addresses and
// queries that it takes.
import { resourceTypes } from '../../src/resource/type-registry.ts';

/** Of an OpenAPI document. */
export type Paths = Readonly<Record<string, { readonly get?: { readonly parameters?: readonly { readonly name: string }[] } }>>;
export type Question = { readonly path: string; readonly url: string; readonly accept: string };
/** What the parameters of paths may be. @property names of the resources of a type */
export type Asked = {
  readonly mesh: string;
  readonly names: (type: string) => readonly string[];
  readonly kris: readonly string[];
};

/** Questions that wait together: an answer in YAML comes from another thread, for which a busy machine has little time. */
const TOGETHER = 16;

export function questionsOf(paths: Paths, asked: Asked): Question[] {
  return Object.entries(paths).flatMap(([path, { get }]) => {
    if (get === undefined) return [];
    const takes = new Set((get.parameters ?? []).map(({ name }) => name));
    const given = { format: '?format=kubernetes', include: '?shadow=true&include=diff', from: '?from=0' };
    const queries = Object.entries(given).flatMap(([name, query]) => (takes.has(name) ? [query] : []));
    return urlsOf(path, asked).flatMap((url) => [
      ...['', ...queries].map((query) => ({ path, url: `${url}${query}`, accept: 'application/json' })),
      ...(takes.has('format') ? [{ path, url, accept: 'application/yaml' }] : []),
    ]);
  });
}

/** Asks all questions, several at a time. */
export async function askAll(questions: readonly Question[], ask: (question: Question) => Promise<void>): Promise<void> {
  const waiting = questions.values();
  const work = async (): Promise<void> => {
    for (const question of waiting) await ask(question);
  };
  await Promise.all(Array.from({ length: TOGETHER }, work));
}

/** A route where callers who may read Secrets get documents as they were written: the list of a type, one of it, and one by its KRI. */
export function isOfDocuments(path: string): boolean {
  const types = resourceTypes.flatMap(({ path: own, aliases }) => [own, ...aliases]).filter((own) => own !== '');
  const [last = '', before = ''] = path.split('/').toReversed();
  return types.includes(last) || path === '/_kri/{kri}' || (last === '{name}' && types.includes(before));
}

/** A path with the values that its parameters may have. */
function urlsOf(path: string, { mesh, names, kris }: Asked): string[] {
  const type = resourceTypes.find((info) =>
    [info.path, ...info.aliases].some((own) => own !== '' && path.includes(`/${own}/{name}`)),
  );
  const named = names(path.includes('/dataplane') ? 'Dataplane' : (type?.name ?? ''));
  const values: Readonly<Record<string, readonly string[]>> = {
    mesh: [mesh],
    name: named.length > 0 ? named : ['none'],
    kri: kris,
    version: ['0', '1'],
    path: ['meshexternalservices'],
  };
  return [...path.matchAll(/\{([^}]+)\}/g)].reduce<string[]>(
    (urls, [whole, parameter = '']) =>
      urls.flatMap((url) => (values[parameter] ?? ['x']).map((value) => url.replace(whole, encodeURIComponent(value)))),
    [path],
  );
}
