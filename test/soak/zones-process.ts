// A process with fake zones of a soak: each joins, leaves, refuses and writes by command, and reports at the end what it holds.
import { report, takeCommands } from '../../bench/commands.ts';
import { ZoneStates, type Replicas, type ZonesState } from '../fakes/zone-states.ts';
import { FakeZone } from '../fakes/fake-zone.ts';
import { ZoneService } from './zone-service.ts';

export type ZoneCommand =
  /** The addresses of the living replicas, for later connections, with the zones that each has. */
  | { readonly kind: 'replicas'; readonly replicas: Replicas }
  | { readonly kind: 'join' | 'leave' | 'refuse' | 'accept'; readonly zone: string }
  /** The port of its service; null removes the service. */
  | { readonly kind: 'write'; readonly zone: string; readonly port: number | null }
  | { readonly kind: 'held' };

export type HeldByZone = {
  readonly zone: string;
  /** Type → name.mesh → version. */
  readonly held: readonly (readonly [type: string, resources: readonly (readonly [name: string, version: string])[]])[];
  /** The port of its service. */
  readonly port: number | null;
};
export type ZoneReport = { readonly kind: 'up' } | ZonesState | { readonly kind: 'held'; readonly zones: readonly HeldByZone[] };

const states = new ZoneStates();
const known = new Map<string, { readonly zone: FakeZone; readonly service: ZoneService }>();

function zoneOf(name: string): { readonly zone: FakeZone; readonly service: ZoneService } {
  const found = known.get(name);
  if (found !== undefined) return found;
  const service = new ZoneService(name);
  const { choose, changed } = states;
  const made = { zone: new FakeZone({ name, manners: 'good', remembers: true, choose, changed, service }), service };
  states.zones.push(made.zone);
  known.set(name, made);
  return made;
}

function held(): HeldByZone[] {
  return [...known].map(([name, { zone, service }]) => ({
    zone: name,
    held: [...zone.held].map(([type, resources]) => [type, [...resources]] as const),
    port: service.port,
  }));
}

takeCommands((command: ZoneCommand): ZoneReport | undefined => {
  if (command.kind === 'held') return { kind: 'held', zones: held() };
  if (command.kind === 'replicas') states.replicas = command.replicas;
  else {
    const { zone, service } = zoneOf(command.zone);
    if (command.kind === 'join') zone.join();
    else if (command.kind === 'leave') zone.leave();
    else if (command.kind === 'write') {
      const response = service.put(command.port);
      if (response !== null) zone.send(response);
    } else {
      zone.manners = command.kind === 'refuse' ? 'refusing' : 'good';
      // It is sent what it refused when it connects again.
      if (command.kind === 'accept') zone.drop();
    }
  }
  states.changed();
  return undefined;
});
report({ kind: 'up' });
