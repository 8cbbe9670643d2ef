import type { JSX } from 'preact';
import { linkTo } from '../router.ts';

/** A path at which no page is. */
export function NowherePage(): JSX.Element {
  return (
    <div class="card">
      <p class="none">
        There is no page at this address. <a href={linkTo([])}>Go to the fleet</a>
      </p>
    </div>
  );
}
