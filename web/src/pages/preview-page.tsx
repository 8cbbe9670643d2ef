// What if: documents that are not stored, which zones would get them, and which values would change for which proxies.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Answer } from '../../../src/api/answers.ts';
import { Diff } from '../parts/diff.tsx';
import { Failure } from '../parts/failure.tsx';
import { StateMark } from '../parts/state-mark.tsx';
import { linkTo } from '../router.ts';
import { ApiFailure, ask } from '../session.ts';
import { counted } from '../words.ts';

type Preview = Answer<'Preview'>;
type Item = Preview['items'][number];
type ChangedProxy = Preview['proxies']['items'][number];
type Value = ChangedProxy['changes'][number]['before'];

const START = JSON.stringify(
  {
    ...{ type: 'MeshTimeout', mesh: 'default', name: 'tried' },
    spec: { to: [{ targetRef: { kind: 'Mesh' }, default: { connectionTimeout: '3s' } }] },
  },
  null,
  2,
);
/** More zones of one document would hide the others. */
const MAX_ZONES = 20;

export function PreviewPage(): JSX.Element {
  const [draft, setDraft] = useState(START);
  const [found, setFound] = useState<{ readonly draft: string; readonly preview: Preview } | undefined>();
  const [failure, setFailure] = useState<ApiFailure | undefined>();
  const look = (): void => {
    setFailure(undefined);
    Promise.resolve()
      .then(async () => {
        const { body: preview } = await ask<Preview>('/_preview', { method: 'POST', body: documentsIn(draft) });
        setFound({ draft, preview });
      })
      .catch((error: unknown) => {
        setFound(undefined);
        setFailure(error instanceof ApiFailure ? error : new ApiFailure(0, String(error)));
      });
  };
  return (
    <>
      <div class="head">
        <h1>What if</h1>
      </div>
      <div class="split even">
        <section class="card editor" aria-label="Documents">
          <textarea
            aria-label="Documents as JSON, one or a list"
            spellcheck={false}
            value={draft}
            onInput={({ currentTarget }) => setDraft(currentTarget.value)}
          />
          <Failure of={failure} />
          <div class="actions">
            <button type="button" class="main" onClick={look}>
              Show what would change
            </button>
            <span class="soft">Nothing is stored.</span>
          </div>
        </section>
        <div class="stack" role="status">
          {found !== undefined && found.draft === draft && (
            <>
              {found.preview.items.map((item) => (
                <DocumentCard key={`${item.type} ${item.mesh ?? ''} ${item.name}`} item={item} />
              ))}
              <ProxiesCard proxies={found.preview.proxies} />
            </>
          )}
        </div>
      </div>
    </>
  );
}

function DocumentCard({ item }: { readonly item: Item }): JSX.Element {
  const { type, mesh, name, result, warnings = [], diff = [], sentTo, sync } = item;
  const title = `${type} ${mesh === undefined ? '' : `${mesh}/`}${name}`;
  const targets = sync.targets.slice(0, MAX_ZONES);
  return (
    <section class="card" aria-label={title}>
      <div class="bar">
        <h2>{title}</h2>
        <span class="end soft">{result === 'unchanged' ? 'unchanged' : `would be ${result}`}</span>
      </div>
      {warnings.map((warning) => (
        <p key={warning} class="note">
          {warning}
        </p>
      ))}
      {result === 'updated' && <Diff changes={diff} />}
      <table class="plain" aria-label={`Zones of ${name}`}>
        <thead>
          <tr>
            <th>Zone</th>
            <th>Would get it</th>
            <th>Name there</th>
            <th>Rule or reason</th>
          </tr>
        </thead>
        <tbody>
          {targets.map(({ to, isSent, name: there, reason, needs, zone }) => (
            <tr key={to}>
              <td>{to}</td>
              <td>
                <ZoneMark isSent={isSent} isAway={zone !== undefined && !['online', 'lagging'].includes(zone.connection)} />
              </td>
              <td class="mono">{there ?? ''}</td>
              <td>{needs === undefined ? reason : `${reason}; needs ${needs}`}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {sync.targets.length > MAX_ZONES && <p class="note">{counted(sentTo, 'zone')} would get it.</p>}
    </section>
  );
}

function ZoneMark({ isSent, isAway }: { readonly isSent: boolean; readonly isAway: boolean }): JSX.Element {
  if (!isSent) return <StateMark tone="away" word="no" />;
  return isAway ? <StateMark tone="late" word="when it is back" /> : <StateMark tone="ok" word="yes" />;
}

function ProxiesCard({ proxies: { candidates, compared, changed, items } }: Pick<Preview, 'proxies'>): JSX.Element {
  return (
    <section class="card" aria-label="Proxies">
      <div class="bar">
        <h2>{`${counted(changed, 'proxy', 'proxies')} would change`}</h2>
        <span class="end soft">{compared < candidates && `${String(compared)} of ${String(candidates)} were compared`}</span>
      </div>
      {items.map((proxy) => (
        <ProxyChanges key={proxy.kri} proxy={proxy} />
      ))}
    </section>
  );
}

function ProxyChanges({ proxy: { dataplane, zone, isNew, total, changes } }: { readonly proxy: ChangedProxy }): JSX.Element {
  const { mesh, name, labels } = dataplane;
  const shown = labels['kuma.io/display-name'] ?? name;
  return (
    <details open={changes.length <= 10}>
      <summary>
        {shown} {zone !== '' && `in ${zone}`} <span class="soft">{isNew ? 'new' : counted(total, 'value')}</span>
      </summary>
      {!isNew && (
        <p class="actions">
          <a href={linkTo(['proxies', mesh, name])}>What is in force now</a>
        </p>
      )}
      <table class="plain" aria-label={`Values of ${shown}`}>
        <thead>
          <tr>
            <th>On</th>
            <th>Field</th>
            <th>Before</th>
            <th>After</th>
          </tr>
        </thead>
        <tbody>
          {changes.map(({ kri, route, matches, kind, path, before, after }) => (
            <tr key={`${kri} ${route ?? ''} ${JSON.stringify(matches ?? null)} ${kind} ${path}`}>
              <td class="mono">{route ?? kri}</td>
              <td>
                {kind} <span class="mono">{path}</span>
              </td>
              <td>
                <ValueOf value={before} />
              </td>
              <td>
                <ValueOf value={after} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}

function ValueOf({ value }: { readonly value: Value }): JSX.Element {
  if (value === null) return <span class="soft">not set</span>;
  const text = typeof value.value === 'string' ? value.value : JSON.stringify(value.value);
  return (
    <>
      <span class="mono">{text}</span> <span class="soft">{value.origins.map(({ name }) => name).join(', ')}</span>
    </>
  );
}

/** One document or a list of them. @throws ApiFailure */
function documentsIn(text: string): readonly unknown[] {
  try {
    const given = JSON.parse(text) as unknown;
    return Array.isArray(given) ? given : [given];
  } catch (error) {
    throw new ApiFailure(0, `The documents are not JSON: ${error instanceof Error ? error.message : ''}`);
  }
}
