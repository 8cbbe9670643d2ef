// Which page stands at which place.
import type { ComponentType } from 'preact';
import type { Answer } from '../../../src/answers/answers.ts';
import { ChangesPage } from './changes-page.tsx';
import { FleetPage } from './fleet-page.tsx';
import { HealthPage } from './health-page.tsx';
import { KriPage } from './kri-page.tsx';
import { MatrixPage } from './matrix-page.tsx';
import { PreviewPage } from './preview-page.tsx';
import { ProxiesPage } from './proxies-page.tsx';
import { ProxyPage } from './proxy-page.tsx';
import { ResourcePage } from './resource-page.tsx';
import { ResourcesPage } from './resources-page.tsx';
import { TypePage } from './type-page.tsx';
import { ZonePage } from './zone-page.tsx';

/** `parts`: the parts of the path. */
export type PageProps = { readonly parts: readonly string[]; readonly control: Answer<'Index'> };
type Page = { readonly title: (parts: readonly string[]) => string; readonly Page: ComponentType<PageProps> };

const fleet: Page = { title: () => 'Fleet', Page: FleetPage };

/** First part of the path → the page for each number of parts. */
const PAGES: Readonly<Record<string, Readonly<Record<number, Page>>>> = {
  zones: { 1: fleet, 2: { title: ([, zone = '']) => `Zone ${zone}`, Page: ZonePage } },
  changes: {
    1: { title: () => 'Changes', Page: ChangesPage },
    2: { title: ([, id = '']) => `Change ${id}`, Page: ChangesPage },
  },
  resources: {
    1: { title: () => 'Resources', Page: ResourcesPage },
    2: { title: ([, path = '']) => path, Page: TypePage },
    3: { title: ([, path = '']) => `${path} by zone`, Page: MatrixPage },
    4: { title: ([, , , name = '']) => name, Page: ResourcePage },
  },
  health: { 1: { title: () => 'Health', Page: HealthPage } },
  preview: { 1: { title: () => 'What if', Page: PreviewPage } },
  kri: { 2: { title: ([, kri = '']) => kri, Page: KriPage } },
  proxies: {
    1: { title: () => 'Proxies', Page: ProxiesPage },
    3: { title: ([, , name = '']) => name, Page: ProxyPage },
  },
};

/** Null where no page is. */
export function pageAt(parts: readonly string[]): Page | null {
  const [section] = parts;
  if (section === undefined) return fleet;
  return Object.hasOwn(PAGES, section) ? (PAGES[section]?.[parts.length] ?? null) : null;
}
