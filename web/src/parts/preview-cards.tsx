// What a document or a deletion would change: the zones that would get or lose it, and the values of proxies.
import type { JSX } from 'preact';
import type { Answer } from '../../../src/answers/answers.ts';
import { linkTo } from '../router.ts';
import { counted } from '../words.ts';
import { Diff } from './diff.tsx';
import { StateMark } from './state-mark.tsx';

type Preview = Answer<'Preview'>;
type Item = Preview['items'][number];
type ChangedProxy = Preview['proxies']['items'][number];
type Value = ChangedProxy['changes'][number]['before'];

/** More zones of one document would hide the others. */
const MAX_ZONES = 20;

export function DocumentCard({ item }: { readonly item: Item }): JSX.Element {
  const { type, mesh, name, result, warnings = [], diff = [], takes = [], sentTo, sync } = item;
  const verb = result === 'deleted' ? 'lose' : 'get';
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
      {takes.length > 0 && <p class="note">{takesWords(takes)}</p>}
      {result === 'updated' && <Diff changes={diff} />}
      <table class="plain" aria-label={`Zones of ${name}`}>
        <thead>
          <tr>
            <th>Zone</th>
            <th>{`Would ${verb} it`}</th>
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
      {sync.targets.length > MAX_ZONES && <p class="note">{`${counted(sentTo, 'zone')} would ${verb} it.`}</p>}
    </section>
  );
}

/** What goes with a deleted mesh. */
export function takesWords(takes: NonNullable<Item['takes']>): string {
  return `With it go ${takes.map(({ type, total }) => counted(total, type, type)).join(', ')}.`;
}

function ZoneMark({ isSent, isAway }: { readonly isSent: boolean; readonly isAway: boolean }): JSX.Element {
  if (!isSent) return <StateMark tone="away" word="no" />;
  return isAway ? <StateMark tone="late" word="when it is back" /> : <StateMark tone="ok" word="yes" />;
}

export function ProxiesCard({ proxies: { candidates, compared, changed, items } }: Pick<Preview, 'proxies'>): JSX.Element {
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

function ProxyChanges({
  proxy: { dataplane, zone, isNew, isGone, total, changes },
}: {
  readonly proxy: ChangedProxy;
}): JSX.Element {
  const { mesh, name, labels } = dataplane;
  const shown = labels['kuma.io/display-name'] ?? name;
  return (
    <details open={changes.length <= 10}>
      <summary>
        {shown} {zone !== '' && `in ${zone}`}{' '}
        <span class="soft">{isNew ? 'new' : isGone === true ? 'deleted' : counted(total, 'value')}</span>
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
          {changes.map(({ kri, route, kind, path, before, after }, at) => (
            <tr key={at}>
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
