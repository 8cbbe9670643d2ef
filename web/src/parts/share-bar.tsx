import type { JSX } from 'preact';
import { audience, type Rollout } from '../receipts.ts';

/** How many of the zones that should have a change have it, lack it, refuse it or are away. */
export function ShareBar({ counts }: { readonly counts: Rollout['counts'] }): JSX.Element {
  const all = Math.max(1, audience(counts));
  const { acknowledged, refused, withheld, sent, pending, unknown, away } = counts;
  const parts = [
    ['ok', acknowledged],
    ['late', sent + pending + unknown],
    ['bad', refused + withheld],
    ['away', away],
  ] as const;
  return (
    <div class="bar-of" aria-hidden="true">
      {parts.map(([tone, count]) => (
        <span key={tone} class={`fill-${tone}`} style={{ width: `${String((100 * count) / all)}%` }} />
      ))}
    </div>
  );
}
