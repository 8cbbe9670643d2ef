// What has a name like the given text. The page is asked first, then the control plane: each type that has resources.
import { placeOf, resourceTypes, type TypeInfo } from './catalog.ts';
import { SECTIONS } from './sections.ts';
import { linkTo } from './router.ts';
import { ApiFailure, get } from './session.ts';
import { loadTotals } from './totals.ts';

export type Hit = { readonly name: string; readonly kind: string; readonly href: string };

type Named = {
  readonly items: readonly {
    readonly name: string;
    readonly mesh?: string;
    readonly labels?: Readonly<Record<string, string>>;
  }[];
};

/** Of each type. */
const MAX_HITS = 8;
const AT_ONCE = 4;

/** @param show gets all hits so far, each time there are more */
export async function findEverything(text: string, signal: AbortSignal, show: (hits: readonly Hit[]) => void): Promise<void> {
  const wanted = text.toLowerCase();
  const hits: Hit[] = SECTIONS.filter(({ title }) => title.toLowerCase().includes(wanted)).map(({ title, parts }) => ({
    name: title,
    kind: 'page',
    href: linkTo(parts),
  }));
  if (/^kri_/.test(text)) hits.unshift({ name: text, kind: 'KRI', href: linkTo(['kri', text]) });
  show([...hits]);
  try {
    hits.push(...(await zonesNamed(text, signal)));
    show([...hits]);
    const types = await resourceTypes();
    if (text === '') return;
    hits.push(...types.filter((type) => type.pluralDisplayName.toLowerCase().includes(wanted)).map(typeHit));
    show([...hits]);
    const totals = await loadTotals(signal);
    const filled = types.filter(({ name }) => (totals[name] ?? 0) > 0 && name !== 'Zone');
    for (let at = 0; at < filled.length; at += AT_ONCE) {
      const found = await Promise.all(filled.slice(at, at + AT_ONCE).map((type) => readableNamed(type, text, signal)));
      if (found.flat().length === 0) continue;
      hits.push(...found.flat());
      show([...hits]);
    }
  } catch {
    // What was found so far is shown. Another letter asks again.
  }
}

async function zonesNamed(text: string, signal: AbortSignal): Promise<Hit[]> {
  const { items } = await get<Named>(`/zones?size=${String(MAX_HITS)}&name=${encodeURIComponent(text)}`, signal);
  return items.map(({ name }) => ({ name, kind: 'zone', href: linkTo(['zones', name]) }));
}

function typeHit({ pluralDisplayName, path }: TypeInfo): Hit {
  return { name: pluralDisplayName, kind: 'type', href: linkTo(['resources', path]) };
}

/** None of a type that the caller may not read, or that cannot be read now: the other types are searched all the same. */
async function readableNamed(type: TypeInfo, text: string, signal: AbortSignal): Promise<Hit[]> {
  try {
    return await resourcesNamed(type, text, signal);
  } catch (error) {
    if (error instanceof ApiFailure && error.status > 0 && error.status !== 401) return [];
    throw error;
  }
}

async function resourcesNamed(
  { path, name: type, singularDisplayName }: TypeInfo,
  text: string,
  signal: AbortSignal,
): Promise<Hit[]> {
  const { items } = await get<Named>(`/${path}?size=${String(MAX_HITS)}&name=${encodeURIComponent(text)}`, signal);
  return items.map(({ name, mesh, labels = {} }) => {
    const zone = labels['kuma.io/zone'];
    const where = [mesh, zone === undefined ? undefined : `zone ${zone}`].filter((part) => part !== undefined);
    return {
      name: labels['kuma.io/display-name'] ?? name,
      kind: [singularDisplayName, ...where].join(', '),
      href: type === 'Dataplane' ? linkTo(['proxies', mesh ?? '', name]) : linkTo(placeOf(path, mesh, name)),
    };
  });
}
