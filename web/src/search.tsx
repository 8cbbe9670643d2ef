// One field for everything: pages, zones, types, and resources by name or KRI.
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { findEverything, type Hit } from './find-everything.ts';
import { go } from './router.ts';

/** A pause in typing: each letter would ask the control plane. */
const PAUSE_MS = 120;

export function Search({ onClose }: { readonly onClose: () => void }): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const [text, setText] = useState('');
  const [chosen, setChosen] = useState(0);
  const [isEntered, setEntered] = useState(false);
  const found = useHits(text.trim());
  const { hits } = found;
  /** What is listed may still be of an earlier text. */
  const isCurrent = found.text === text.trim();
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  const open = (hit: Hit | undefined): void => {
    if (hit === undefined) return;
    dialog.current?.close();
    go(hit.href);
  };
  const onKey = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      setChosen((at) => Math.max(0, Math.min(hits.length - 1, at + step)));
    } else if (event.key === 'Enter') {
      event.preventDefault();
      setEntered(true);
    }
  };
  useEffect(() => {
    if (isEntered && isCurrent) open(hits[chosen]);
  }, [isEntered, isCurrent, hits]);
  return (
    <dialog
      ref={dialog}
      class="search"
      aria-label="Search"
      onClose={onClose}
      onClick={({ target }) => target === dialog.current && onClose()}
    >
      <input
        type="text"
        role="combobox"
        aria-label="Zone, resource, type, page or KRI"
        placeholder="Zone, resource, type, page or KRI"
        aria-expanded={hits.length > 0}
        aria-controls="hits"
        {...(hits.length > 0 && { 'aria-activedescendant': `hit-${String(chosen)}` })}
        autocomplete="off"
        value={text}
        onInput={({ currentTarget }) => {
          setText(currentTarget.value);
          setChosen(0);
          setEntered(false);
        }}
        onKeyDown={onKey}
        autoFocus
      />
      <div id="hits" role="listbox" aria-label="Found">
        {hits.map((hit, at) => (
          <Option key={hit.href} hit={hit} at={at} isChosen={at === chosen} onOpen={() => open(hit)} />
        ))}
      </div>
      {hits.length === 0 && <p class="none">Nothing has this name</p>}
    </dialog>
  );
}

type OptionProps = { readonly hit: Hit; readonly at: number; readonly isChosen: boolean; readonly onOpen: () => void };

function Option({ hit, at, isChosen, onOpen }: OptionProps): JSX.Element {
  const element = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (isChosen) element.current?.scrollIntoView({ block: 'nearest' });
  }, [isChosen]);
  return (
    <div ref={element} id={`hit-${String(at)}`} role="option" aria-selected={isChosen} onClick={onOpen}>
      {hit.name}
      <span class="soft">{hit.kind}</span>
    </div>
  );
}

type Found = { readonly text: string; readonly hits: readonly Hit[] };

/** The hits so far, and the text that they are of. */
function useHits(text: string): Found {
  const [found, setFound] = useState<Found>({ text: '', hits: [] });
  useEffect(() => {
    const gone = new AbortController();
    const timer = setTimeout(
      () => {
        void findEverything(text, gone.signal, (hits) => {
          if (!gone.signal.aborted) setFound({ text, hits });
        });
      },
      text === '' ? 0 : PAUSE_MS,
    );
    return () => {
      clearTimeout(timer);
      gone.abort();
    };
  }, [text]);
  return found;
}
