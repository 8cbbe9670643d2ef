// The frame of every page: where one can go, who one is, and whether the answers are current.
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Answer } from '../../src/answers/answers.ts';
import { index } from './catalog.ts';
import { isConnected, useLive } from './live.ts';
import { LoginPage } from './pages/login-page.tsx';
import { NowherePage } from './pages/nowhere-page.tsx';
import { pageAt } from './pages/page-list.tsx';
import { Failure } from './parts/failure.tsx';
import { Guarded } from './parts/guarded.tsx';
import { linkTo, place } from './router.ts';
import { SECTIONS } from './sections.ts';
import { Search } from './search.tsx';
import { get, hasToken, loginReason, logins, logOut } from './session.ts';

export function App(): JSX.Element {
  const { data: control, failure } = useLive('index', [], index);
  const [isSearching, setSearching] = useState(false);
  useSearchKey(() => setSearching(true));
  return (
    <>
      <a class="skip" href="#content">
        Skip to the content
      </a>
      <Top control={control} onSearch={() => setSearching(true)} />
      <div role="status">
        {!isConnected.value && <p class="lost">The control plane does not answer. This page shows its last answers.</p>}
      </div>
      <main id="content" tabIndex={-1}>
        {loginReason.value === null ? (
          <>
            <Failure of={failure} />
            <Page control={control} />
          </>
        ) : (
          <LoginPage reason={loginReason.value} />
        )}
      </main>
      {isSearching && <Search onClose={() => setSearching(false)} />}
    </>
  );
}

function Page({ control }: { readonly control: Answer<'Index'> | undefined }): JSX.Element | null {
  const parts = place.value;
  const page = pageAt(parts);
  const title = page === null ? 'Not found' : page.title(parts);
  const where = control === undefined ? '' : ` – ${placeName(control)}`;
  useEffect(() => {
    document.title = `${title}${where} – Meridian`;
  }, [title, where]);
  // A page may ask for what a zone or a global has: it waits until that is known.
  if (control === undefined) return null;
  if (page === null) return <NowherePage />;
  return (
    <Guarded key={parts.join('/')}>
      <page.Page parts={parts} control={control} />
    </Guarded>
  );
}

function Top({
  control,
  onSearch,
}: {
  readonly control: Answer<'Index'> | undefined;
  readonly onSearch: () => void;
}): JSX.Element {
  const [section = ''] = place.value;
  return (
    <header class="top">
      <a class="brand" href={linkTo([])}>
        Meridian <small>{control === undefined ? '' : placeName(control)}</small>
      </a>
      <nav aria-label="Pages">
        {SECTIONS.map(({ title, parts, firsts }) => (
          <a key={title} href={linkTo(parts)} {...(firsts.includes(section) && { 'aria-current': 'page' as const })}>
            {title}
          </a>
        ))}
      </nav>
      <button type="button" class="find" onClick={onSearch}>
        Search <kbd>Ctrl K</kbd>
      </button>
      <Caller />
    </header>
  );
}

function Caller(): JSX.Element {
  const { data } = useLive('who', [], (signal) => get<Answer<'WhoAmI'>>('/who-am-i', signal));
  const name = data?.name.replace(/^mesh-system:/, '') ?? '';
  return (
    <span class="who" key={String(logins.value)}>
      <span>{name}</span>
      {hasToken() ? (
        <button type="button" class="plain" onClick={logOut}>
          Log out
        </button>
      ) : (
        name === 'anonymous' && (
          <button type="button" class="plain" onClick={() => (loginReason.value = '')}>
            Log in
          </button>
        )
      )}
    </span>
  );
}

function placeName({ mode, zone }: Answer<'Index'>): string {
  return mode === 'global' ? 'global' : `zone ${zone ?? ''}`;
}

function useSearchKey(open: () => void): void {
  useEffect(() => {
    const listen = (event: KeyboardEvent): void => {
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      open();
    };
    addEventListener('keydown', listen);
    return () => removeEventListener('keydown', listen);
  }, []);
}
