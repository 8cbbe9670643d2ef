// A process with many zones that connect again: says where they are and what they have, whenever that changes.
import { nowMs } from './measure.ts';
import { ResumingZone } from './resuming-zone.ts';

export type ZonesCommand =
  | { readonly kind: 'join'; readonly zones: readonly string[]; readonly replicas: Replicas }
  /** The replicas, and how many zones of all processes each has. */
  | { readonly kind: 'replicas'; readonly replicas: Replicas }
  | { readonly kind: 'drop' }
  | { readonly kind: 'digest' };
/** Address → zones. */
export type Replicas = Readonly<Record<string, number>>;

export type ZonesState = {
  readonly kind: 'state';
  /** Zones with everything on their connection, by address. */
  readonly up: Replicas;
  /** Zones by the address that they have chosen. */
  readonly chosen: Replicas;
  /** The least number of MeshTimeouts that a zone received, and when the last zone did. */
  readonly least: number;
  readonly at: number;
  /** Sums over the zones. */
  readonly again: number;
  readonly failures: number;
};
export type ZonesReport =
  | { readonly kind: 'started' | 'dropped' }
  | ZonesState
  | { readonly kind: 'digests'; readonly digests: string[] };

/** Milliseconds between two reports of a changed state. A new least number is reported at once. */
const REPORT_MS = 50;

const zones: ResumingZone[] = [];
let replicas: Replicas = {};
let least = -1;
/** Index of a zone that has no more. */
let last = 0;
let at = 0;
let timer: NodeJS.Timeout | undefined;

function report(message: ZonesReport): void {
  process.send?.(message);
}

function state(): ZonesState {
  const up: Record<string, number> = {};
  const chosen: Record<string, number> = {};
  let [again, failures] = [0, 0];
  for (const zone of zones) {
    again += zone.again;
    failures += zone.failures;
    if (zone.address === '') continue;
    chosen[zone.address] = (chosen[zone.address] ?? 0) + 1;
    if (zone.isUp) up[zone.address] = (up[zone.address] ?? 0) + 1;
  }
  return { kind: 'state', up, chosen, least, at, again, failures };
}

function reportSoon(): void {
  timer ??= setTimeout(() => {
    timer = undefined;
    report(state());
  }, REPORT_MS);
}

function changed(): void {
  if (hasLast()) return reportSoon();
  least = zones.reduce((most, { received }) => Math.min(most, received), Infinity);
  last = 0;
  at = nowMs();
  report(state());
}

/** Some zone has no more than the least number. Looks on from the zone that was found before: counts never fall. */
function hasLast(): boolean {
  while (last < zones.length && (zones[last]?.received ?? 0) > least) last += 1;
  return last < zones.length;
}

/** Of two replicas the one with fewer zones, as a load balancer does that counts connections. */
function choose(): string {
  const known = Object.keys(replicas);
  const first = Math.floor(Math.random() * known.length);
  const second = (first + 1 + Math.floor(Math.random() * (known.length - 1))) % known.length;
  const [one = '', other = ''] = [known[first], known[second]];
  return (replicas[one] ?? 0) <= (replicas[other] ?? 0) ? one : other;
}

// The terminal interrupts everyone; the process that measures decides when this one ends.
process.on('SIGINT', () => undefined);
process.on('disconnect', () => process.exit(0));
process.on('message', (command: ZonesCommand) => {
  if ('replicas' in command) ({ replicas } = command);
  if (command.kind === 'join') {
    for (const name of command.zones) zones.push(new ResumingZone(name, { choose, changed }));
    for (const zone of zones) zone.connect();
  } else if (command.kind === 'drop') {
    for (const zone of zones) zone.drop();
    report(state());
    report({ kind: 'dropped' });
  } else if (command.kind === 'digest') report({ kind: 'digests', digests: [...new Set(zones.map((zone) => zone.digest()))] });
});
report({ kind: 'started' });
