// Durations over time, a mark each: how long changes took, or how far a zone was behind. The list beside it has the same facts.
import type { JSX } from 'preact';
import { useWidth } from '../use-width.ts';
import { lasting } from '../words.ts';
import type { Tone } from './state-mark.tsx';

/** `at`: milliseconds since 1970. */
export type ChartPoint = { readonly at: number; readonly ms: number; readonly tone: Tone; readonly title: string };

type Props = {
  readonly label: string;
  readonly points: readonly ChartPoint[];
  /** Milliseconds since 1970. */
  readonly from: number;
  readonly to: number;
};

const HEIGHT = 96;
const TOP = 10;
const BASE = 70;
const LEFT = 56;
const RIGHT = 14;
/** Below it the axis has fewer times. */
const NARROW_PX = 400;
/** From here on the scale is logarithmic: a slow change must not flatten all others. */
const LEAST_MS = 10;
const MAX_POINTS = 600;

export function TimeChart({ label, points, from, to }: Props): JSX.Element {
  const [frame, width] = useWidth<SVGSVGElement>(600);
  const shown = points.filter(({ at }) => at >= from && at <= to).slice(-MAX_POINTS);
  const most = niceEnd(Math.max(LEAST_MS * 10, ...shown.map(({ ms }) => ms)));
  const room = width - LEFT - RIGHT;
  const xOf = (at: number): number => LEFT + ((at - from) / Math.max(1, to - from)) * room;
  const yOf = (ms: number): number => BASE - (share(ms) / share(most)) * (BASE - TOP);
  return (
    <svg ref={frame} class="strip" height={HEIGHT} role="img" aria-label={label}>
      {[LEAST_MS, Math.sqrt(LEAST_MS * most), most].map((ms) => (
        <g key={ms}>
          <line class="axis" x1={LEFT} x2={width - RIGHT} y1={yOf(ms)} y2={yOf(ms)} />
          <text x={LEFT - 8} y={yOf(ms) + 4} text-anchor="end">
            {lasting(ms)}
          </text>
        </g>
      ))}
      {(room < NARROW_PX ? [0, 0.5, 1] : [0, 0.25, 0.5, 0.75, 1]).map((part) => (
        <text
          key={part}
          x={xOf(from + part * (to - from))}
          y={HEIGHT - 4}
          text-anchor={part === 0 ? 'start' : part === 1 ? 'end' : 'middle'}
        >
          {part === 1 ? 'now' : `${lasting((1 - part) * (to - from))} ago`}
        </text>
      ))}
      {shown.map(({ at, ms, tone, title }) => (
        <circle key={`${String(at)} ${title}`} class={`fill-${tone}`} cx={xOf(at)} cy={yOf(ms)} r={3.5}>
          <title>{title}</title>
        </circle>
      ))}
    </svg>
  );
}

function share(ms: number): number {
  return Math.log10(Math.max(LEAST_MS, ms) / LEAST_MS) + 0.1;
}

/** The next power of ten. */
function niceEnd(ms: number): number {
  return 10 ** Math.ceil(Math.log10(ms));
}
