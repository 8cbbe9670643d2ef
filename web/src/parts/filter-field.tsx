import type { JSX } from 'preact';
import { query, setQuery } from '../router.ts';

/** A filter by text, which stands in the address as `q`. */
export function FilterField({ label }: { readonly label: string }): JSX.Element {
  return (
    <input
      type="search"
      aria-label={label}
      placeholder={label}
      value={query.value.get('q') ?? ''}
      onInput={({ currentTarget }) => setQuery('q', currentTarget.value)}
    />
  );
}
