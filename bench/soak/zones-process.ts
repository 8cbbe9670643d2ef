// A process with fake zones of a soak: each joins, leaves, refuses and writes by command, and reports at the end what it holds.
import { ResumingZone } from '../resuming-zone.ts';

export type ZoneCommand =
  /** The addresses of the living replicas, for later connections. */
  | { readonly kind: 'addresses'; readonly addresses: readonly string[] }
  | { readonly kind: 'join'; readonly zone: string }
  | { readonly kind: 'leave'; readonly zone: string }
  | { readonly kind: 'refuse'; readonly zone: string; readonly isRefusing: boolean }
  /** The port of its service; null removes the service. */
  | { readonly kind: 'write'; readonly zone: string; readonly port: number | null }
  | { readonly kind: 'held' };

/** Sums over the zones of the process. */
export type ZoneCounts = {
  /** Zones that have everything on their connection. */
  readonly up: number;
  readonly connectionsLost: number;
  readonly refused: number;
  /** Responses of zones that global refused. */
  readonly refusedByGlobal: number;
};
export type HeldByZone = {
  readonly zone: string;
  /** Type → name.mesh → version. */
  readonly held: readonly (readonly [type: string, resources: readonly (readonly [name: string, version: string])[]])[];
  /** The port of its service. */
  readonly port: number | null;
};
export type ZoneReport =
  | { readonly kind: 'started' }
  | { readonly kind: 'counts'; readonly counts: ZoneCounts }
  | { readonly kind: 'held'; readonly zones: readonly HeldByZone[] };

/** Milliseconds between two reports of changed counts. */
const REPORT_MS = 250;

const zones = new Map<string, ResumingZone>();
let addresses: readonly string[] = [];
let timer: NodeJS.Timeout | undefined;

function report(message: ZoneReport): void {
  process.send?.(message);
}

function counts(): ZoneCounts {
  let [up, connectionsLost, refused, refusedByGlobal] = [0, 0, 0, 0];
  for (const zone of zones.values()) {
    if (zone.isUp) up += 1;
    connectionsLost += zone.failures;
    refused += zone.refused;
    refusedByGlobal += zone.refusedByPeer;
  }
  return { up, connectionsLost, refused, refusedByGlobal };
}

function changed(): void {
  timer ??= setTimeout(() => {
    timer = undefined;
    report({ kind: 'counts', counts: counts() });
  }, REPORT_MS);
}

function choose(): string {
  return addresses[Math.floor(Math.random() * addresses.length)] ?? '';
}

function zoneOf(name: string): ResumingZone {
  const known = zones.get(name) ?? new ResumingZone(name, { choose, changed });
  zones.set(name, known);
  return known;
}

function held(): HeldByZone[] {
  return [...zones].map(([zone, one]) => ({
    zone,
    held: [...one.held].map(([type, resources]) => [type, [...resources]] as const),
    port: one.servicePort,
  }));
}

// The terminal interrupts everyone; the process that measures decides when this one ends.
process.on('SIGINT', () => undefined);
process.on('disconnect', () => process.exit(0));
process.on('message', (command: ZoneCommand) => {
  if (command.kind === 'addresses') ({ addresses } = command);
  else if (command.kind === 'held') report({ kind: 'held', zones: held() });
  else {
    const zone = zoneOf(command.zone);
    if (command.kind === 'join') zone.connect();
    else if (command.kind === 'leave') zone.end();
    else if (command.kind === 'write') zone.putService(command.port);
    else {
      zone.isRefusing = command.isRefusing;
      // It is sent what it refused when it connects again.
      if (!command.isRefusing) zone.drop();
    }
  }
  changed();
});
report({ kind: 'started' });
