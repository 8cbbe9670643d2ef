// The zones of a fleet as cells, in the order of the list. A canvas: 10,000 cells are one element. The table beside it has the same
// facts for those who do not see it.
import type { JSX } from 'preact';
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { go, linkTo } from '../router.ts';
import { useWidth } from '../use-width.ts';
import { counted } from '../words.ts';
import { statesOf, toneOf, wordOf, type Zone } from '../zones.ts';
import type { Tone } from './state-mark.tsx';

/** Between cells; small ones have half of it, and those with names stand apart. */
const GAP = 2;
const NAMED_GAP = 8;
const NAMED_HEIGHT = 44;
const SMALL_PX = 10;
const MAX_HEIGHT = 300;
/** Cells from this size on have a form, and from the second on a name. */
const FORM_PX = 14;
const NAMED_PX = 84;

type Layout = {
  readonly columns: number;
  readonly cellWidth: number;
  readonly cellHeight: number;
  readonly gap: number;
  readonly height: number;
};

export function HeatMap({ zones }: { readonly zones: readonly Zone[] }): JSX.Element {
  const [canvas, width] = useWidth<HTMLCanvasElement>();
  const [under, setUnder] = useState<{ at: number; x: number; y: number } | null>(null);
  const layout = useMemo(() => layOut(zones.length, width), [zones.length, width]);
  const label = useMemo(() => summary(zones), [zones]);
  const scheme = useScheme();
  const drawn = useRef<Drawn | null>(null);
  useLayoutEffect(() => {
    if (canvas.current === null || width === 0) return;
    drawn.current = draw(canvas.current, { zones, layout, width, scheme }, drawn.current);
  }, [zones, layout, width, scheme]);
  const hit = (event: MouseEvent): number | null => cellAt(event.offsetX, event.offsetY, layout, zones.length);
  const shown = under === null ? undefined : zones[under.at];
  return (
    <div class="map-frame">
      <canvas
        ref={canvas}
        class="map"
        role="img"
        aria-label={label}
        style={{ height: `${String(layout.height)}px`, cursor: shown === undefined ? 'default' : 'pointer' }}
        onMouseMove={(event) => {
          const at = hit(event);
          setUnder(at === null ? null : { at, x: event.offsetX, y: event.offsetY });
        }}
        onMouseLeave={() => setUnder(null)}
        onClick={(event) => {
          const zone = zones[hit(event) ?? -1];
          if (zone !== undefined) go(linkTo(['zones', zone.name]));
        }}
      />
      {under !== null && shown !== undefined && (
        <div
          class="tip"
          style={{ left: `${String(Math.max(8, Math.min(under.x + 22, width - 340)))}px`, top: `${String(under.y + 30)}px` }}
        >
          <strong>{shown.name}</strong> {wordOf(shown)}
          <div>{shown.reason}</div>
        </div>
      )}
    </div>
  );
}

/** `dark` or `light`, as the person has chosen. */
function useScheme(): string {
  const [query] = useState(() => matchMedia('(prefers-color-scheme: dark)'));
  const [isDark, setDark] = useState(query.matches);
  useLayoutEffect(() => {
    const look = (): void => setDark(query.matches);
    query.addEventListener('change', look);
    return () => query.removeEventListener('change', look);
  }, []);
  return isDark ? 'dark' : 'light';
}

/** What the map shows, for those who hear it. */
function summary(zones: readonly Zone[]): string {
  const states = [...statesOf(zones)].map(([word, { count }]) => `${count.toLocaleString('en')} ${word}`);
  return [counted(zones.length, 'zone'), ...states].join(', ');
}

/** The largest cells with which all zones are in sight. */
function layOut(count: number, width: number): Layout {
  if (count === 0 || width === 0) return { columns: 1, cellWidth: 0, cellHeight: 0, gap: GAP, height: 40 };
  const named = Math.max(1, Math.floor(width / (148 + NAMED_GAP)));
  if (Math.ceil(count / named) * (NAMED_HEIGHT + NAMED_GAP) <= 260) {
    const columns = Math.min(named, Math.max(count, Math.min(4, named)));
    return sized(columns, count, { width: Math.min(220, (width - NAMED_GAP * (columns - 1)) / columns), height: NAMED_HEIGHT });
  }
  let size = 40;
  while (size > 3 && Math.ceil(count / columnsOf(size, width)) * (size + gapOf(size)) > MAX_HEIGHT) size -= 1;
  return sized(columnsOf(size, width), count, { width: size, height: size });
}

function gapOf(size: number): number {
  if (size === NAMED_HEIGHT) return NAMED_GAP;
  return size < SMALL_PX ? GAP / 2 : GAP;
}

function columnsOf(size: number, width: number): number {
  return Math.max(1, Math.floor((width + gapOf(size)) / (size + gapOf(size))));
}

function sized(columns: number, count: number, cell: { readonly width: number; readonly height: number }): Layout {
  const gap = gapOf(cell.height);
  const rows = Math.ceil(count / columns);
  return { columns, cellWidth: cell.width, cellHeight: cell.height, gap, height: rows * (cell.height + gap) };
}

function cellAt(x: number, y: number, { columns, cellWidth, cellHeight, gap }: Layout, count: number): number | null {
  const column = Math.floor(x / (cellWidth + gap));
  const at = Math.floor(y / (cellHeight + gap)) * columns + column;
  return column < columns && at >= 0 && at < count ? at : null;
}

type Colours = Readonly<Record<Tone, { readonly ground: string; readonly ink: string }>> & { readonly text: string };

/** What a canvas shows. @property scheme its colours are those of this one */
type Picture = {
  readonly zones: readonly Zone[];
  readonly layout: Layout;
  readonly width: number;
  readonly scheme: string;
};
type Drawn = Picture & { readonly colours: Colours };

/** Draws the cells that differ from what the canvas shows; all of them where the cells have other places or colours. */
function draw(canvas: HTMLCanvasElement, picture: Picture, before: Drawn | null): Drawn | null {
  const { zones, layout, width, scheme } = picture;
  const context = canvas.getContext('2d');
  if (context === null) return null;
  const isSame = before !== null && before.layout === layout && before.width === width && before.scheme === scheme;
  const colours = isSame ? before.colours : coloursOf(canvas);
  if (!isSame) {
    canvas.width = Math.round(width * devicePixelRatio);
    canvas.height = Math.round(layout.height * devicePixelRatio);
    context.scale(devicePixelRatio, devicePixelRatio);
  }
  const { columns, cellWidth, cellHeight, gap } = layout;
  for (const [at, zone] of zones.entries()) {
    const old = isSame ? before.zones[at] : undefined;
    if (old === zone || (old !== undefined && looksAs(old, zone))) continue;
    const x = (at % columns) * (cellWidth + gap);
    const y = Math.floor(at / columns) * (cellHeight + gap);
    if (old !== undefined) context.clearRect(x - gap / 2, y - gap / 2, cellWidth + gap, cellHeight + gap);
    drawCell(context, zone, { x, y, width: cellWidth, height: cellHeight }, colours);
  }
  return { ...picture, colours };
}

function looksAs(a: Zone, b: Zone): boolean {
  return a.name === b.name && a.state === b.state && a.lacks > 0 === b.lacks > 0;
}

type Cell = { readonly x: number; readonly y: number; readonly width: number; readonly height: number };

function drawCell(context: CanvasRenderingContext2D, zone: Zone, { x, y, width, height }: Cell, colours: Colours): void {
  const tone = toneOf(zone);
  const { ground, ink } = colours[tone];
  if (width < NAMED_PX) {
    // A cell without a form must stand out by its colour alone; the table has the word.
    context.fillStyle = tone === 'ok' || width >= FORM_PX ? ground : ink;
    if (width < SMALL_PX) return context.fillRect(x, y, width, height);
    context.beginPath();
    context.roundRect(x, y, width, height, Math.min(3, width / 4));
    context.fill();
    if (width >= FORM_PX && tone !== 'ok') drawForm(context, tone, x + width / 2, y + height / 2);
    return;
  }
  context.globalAlpha = 0.22;
  context.fillStyle = ground;
  context.beginPath();
  context.roundRect(x, y, width, height, 5);
  context.fill();
  context.globalAlpha = 1;
  context.beginPath();
  context.roundRect(x, y, 5, height, [5, 0, 0, 5]);
  context.fill();
  context.save();
  context.beginPath();
  context.rect(x, y, width - 6, height);
  context.clip();
  context.font = '600 13px system-ui, sans-serif';
  context.fillStyle = colours.text;
  context.fillText(zone.name, x + 14, y + 19);
  context.font = '12px system-ui, sans-serif';
  context.fillStyle = ink;
  context.fillText(wordOf(zone), x + 14, y + 35);
  context.restore();
}

/** A bar for late, a cross for bad, a ring for away. */
function drawForm(context: CanvasRenderingContext2D, tone: Tone, x: number, y: number): void {
  context.strokeStyle = '#ffffff';
  context.lineWidth = 2;
  context.beginPath();
  if (tone === 'away') context.arc(x, y, 3.5, 0, 2 * Math.PI);
  else {
    context.moveTo(x - 3.5, y - (tone === 'bad' ? 3.5 : 0));
    context.lineTo(x + 3.5, y + (tone === 'bad' ? 3.5 : 0));
    if (tone === 'bad') {
      context.moveTo(x + 3.5, y - 3.5);
      context.lineTo(x - 3.5, y + 3.5);
    }
  }
  context.stroke();
}

/** The colours of the style sheet. A canvas needs them as plain colours. */
function coloursOf(canvas: HTMLCanvasElement): Colours {
  const probe = document.createElement('span');
  canvas.after(probe);
  const colour = (name: string): string => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };
  const pair = (tone: Tone): { ground: string; ink: string } => ({ ground: colour(`${tone}-ground`), ink: colour(tone) });
  const colours = { ok: pair('ok'), late: pair('late'), bad: pair('bad'), away: pair('away'), text: colour('ink') };
  probe.remove();
  return colours;
}
