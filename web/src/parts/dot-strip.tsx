// One change on its way: a dot for each zone at the millisecond at which it had the change. More zones than dots have room for become
// columns of the same form.
import type { JSX } from 'preact';
import type { Answer } from '../../../src/answers/answers.ts';
import { useWidth } from '../use-width.ts';
import { lasting } from '../words.ts';

type Target = Answer<'Rollout'>['targets'][number];
type Arrival = { readonly to: string; readonly ms: number };

const RADIUS = 4.5;
const STEP = 11;
/** Below the axis: its times. */
const AXIS = 26;
const MAX_STACK = 9;
/** Above the axis, in dots. */
const MIN_STACK = 3;
const SIDE = 14;
/** Below it the axis has fewer times. */
const NARROW_PX = 400;

export function DotStrip({ targets, label }: { readonly targets: readonly Target[]; readonly label: string }): JSX.Element {
  const [frame, width] = useWidth<SVGSVGElement>(600);
  const arrivals = targets.flatMap(({ to, acknowledgedMs }) =>
    acknowledgedMs === undefined ? [] : [{ to, ms: acknowledgedMs }],
  );
  const longest = Math.max(10, ...arrivals.map(({ ms }) => ms));
  const end = niceEnd(longest);
  const room = width - 2 * SIDE;
  const stacks = stacked(arrivals, (ms) => Math.round((ms / end) * (room / STEP)));
  const highest = Math.max(1, ...[...stacks.values()].map(({ length }) => length));
  const base = Math.max(MIN_STACK, Math.min(highest, MAX_STACK)) * STEP + 6;
  const height = base + AXIS;
  return (
    <svg ref={frame} class="strip" height={height} role="img" aria-label={label}>
      <line class="axis" x1={SIDE} x2={width - SIDE} y1={base + 4} y2={base + 4} />
      {(room < NARROW_PX ? [0, 0.5, 1] : [0, 0.2, 0.4, 0.6, 0.8, 1]).map((part) => (
        <text key={part} x={SIDE + part * room} y={height - 6} text-anchor={part === 0 ? 'start' : part === 1 ? 'end' : 'middle'}>
          {lasting(part * end)}
        </text>
      ))}
      {[...stacks].map(([column, those]) => (
        <Stack key={column} x={SIDE + column * STEP} arrivals={those} highest={highest} base={base} />
      ))}
    </svg>
  );
}

type StackProps = {
  readonly x: number;
  readonly arrivals: readonly Arrival[];
  readonly highest: number;
  readonly base: number;
};

function Stack({ x, arrivals, highest, base }: StackProps): JSX.Element {
  if (highest > MAX_STACK) {
    const height = Math.max(2, (arrivals.length / highest) * (base - 8));
    return (
      <rect class="fill-ok" x={x - STEP / 2 + 1} y={base - height} width={STEP - 2} height={height} rx={2}>
        <title>{`${String(arrivals.length)} zones after ${lasting(arrivals[0]?.ms ?? 0)}`}</title>
      </rect>
    );
  }
  return (
    <g>
      {arrivals.map(({ to, ms }, at) => (
        <circle key={to} class="dot fill-ok" data-zone={to} cx={x} cy={base - RADIUS - at * STEP} r={RADIUS}>
          <title>{`${to}: ${lasting(ms)}`}</title>
        </circle>
      ))}
    </g>
  );
}

function stacked(arrivals: readonly Arrival[], columnOf: (ms: number) => number): ReadonlyMap<number, readonly Arrival[]> {
  return Map.groupBy(arrivals, ({ ms }) => columnOf(ms));
}

/** The next of 10, 20, 50, 100, 200, … */
function niceEnd(ms: number): number {
  const power = 10 ** Math.floor(Math.log10(ms));
  return ([1, 2, 5, 10].find((factor) => factor * power >= ms) ?? 10) * power;
}
