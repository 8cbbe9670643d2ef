import type { JSX } from 'preact';
import type { ConfRow } from '../effective.ts';
import { PolicyLink } from './policy-link.tsx';

type Props = { readonly title: string; readonly note: string; readonly rows: readonly ConfRow[] };

/** The values in force on one part of a proxy, with the policies that set them. */
export function ConfTable({ title, note, rows }: Props): JSX.Element {
  return (
    <section class="card" aria-label={title}>
      <div class="bar">
        <h2>{title}</h2>
        <span class="soft end">{note}</span>
      </div>
      <table class="plain fixed">
        <thead>
          <tr>
            <th>Policy</th>
            <th>Field</th>
            <th>Value</th>
            <th>Set by</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ kind, path, value, origins, isFirst, where }, row) => (
            <tr key={row}>
              <td>
                {isFirst && kind}
                {isFirst && where !== '' && <div class="soft">{where}</div>}
              </td>
              <td class="mono">{path}</td>
              <td class="mono">{value}</td>
              <td>
                {origins.map((origin, at) => (
                  <span key={`${origin.kri} ${String(origin.ruleIndex)}`}>
                    {at > 0 && ', '}
                    <PolicyLink kri={origin.kri} name={origin.name} />
                  </span>
                ))}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
