// The place in the page, as the address of the browser tells it: links are bookmarks, and the way back works.
import { computed, signal } from '@preact/signals';

const BASE = '/gui';

const address = signal(new URL(location.href));

/** Parts of the path below /gui, decoded; none on the first page. */
export const place = computed<readonly string[]>(() => partsOf(address.value.pathname));
export const query = computed<URLSearchParams>(() => address.value.searchParams);

/** The address of a place. Empty values of the query are left out. */
export function linkTo(parts: readonly string[], values: Readonly<Record<string, string>> = {}): string {
  const search = new URLSearchParams(Object.entries(values).filter(([, value]) => value !== '')).toString();
  const path = [BASE, ...parts.map((part) => encodeURIComponent(part))].join('/');
  return (parts.length === 0 ? `${BASE}/` : path) + (search === '' ? '' : `?${search}`);
}

export function go(href: string, { replace = false } = {}): void {
  if (replace) history.replaceState(null, '', href);
  else history.pushState(null, '', href);
  address.value = new URL(location.href);
  if (!replace) arrive();
}

/** Sets a value of the query of this place, without a step in the history. */
export function setQuery(name: string, value: string): void {
  setQueries({ [name]: value });
}

/** The same for several values at once. */
export function setQueries(values: Readonly<Record<string, string>>): void {
  go(linkTo(place.value, { ...Object.fromEntries(query.value), ...values }), { replace: true });
}

/** Takes the clicks on links of the page and the buttons of the browser. */
export function followLinks(): void {
  addEventListener('popstate', () => (address.value = new URL(location.href)));
  document.addEventListener('click', (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = event.target instanceof Element ? event.target.closest('a') : null;
    if (link === null || link.target !== '' || link.origin !== location.origin) return;
    if (link.pathname !== BASE && !link.pathname.startsWith(`${BASE}/`)) return;
    event.preventDefault();
    if (link.href !== location.href) go(link.href);
  });
}

/** A new place begins at its top, also for those who hear it. */
function arrive(): void {
  scrollTo(0, 0);
  requestAnimationFrame(() => document.querySelector<HTMLElement>('main')?.focus({ preventScroll: true }));
}

function partsOf(path: string): readonly string[] {
  return path
    .slice(BASE.length)
    .split('/')
    .filter((part) => part !== '')
    .map(decoded);
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
