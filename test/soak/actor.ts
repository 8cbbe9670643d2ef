// Does the actions of a plan. Each lane does one action at a time; lanes do not wait for each other. Invariant: at most one process or
// PostgreSQL is away at a time.
import { setTimeout as delay } from 'node:timers/promises';
import type { JsonObject } from '../../src/resource/types.ts';
import { MESH, policyName, policyPath, policySpec, TYPE } from '../../bench/policies.ts';
import type { Postgres } from '../../bench/postgres.ts';
import { SERVICE_TYPE } from './zone-service.ts';
import { Acknowledged } from './acknowledged.ts';
import { call, follow, NO_PORT, type Call } from './call.ts';
import type { SoakFleet } from './fleet.ts';
import { PAGES, type Action, type Kind, type Planned } from './plan.ts';
import { keyOf, REVISION_LABEL } from './stores.ts';
import type { SoakZones } from './zones.ts';

/** Services have this many ports in turn. */
const PORTS = 60_000;

export type World = { readonly fleet: SoakFleet; readonly zones: SoakZones; readonly postgres: Postgres };

export class Actor {
  readonly #world: World;
  readonly #signal: AbortSignal;
  readonly #onFailed: (error: Error) => void;
  /** Lane → its last action. */
  readonly #lanes = new Map<string, Promise<void>>();
  readonly #revisions = new Map<string, number>();
  readonly acknowledged = new Acknowledged();
  /** Kind → how many were done. */
  readonly done = new Map<Kind, number>();
  /** Answers by status; 0 is no answer. */
  readonly answers = new Map<number, number>();
  /** Requests that were refused although they are right. */
  readonly refusals: string[] = [];

  /** @param signal ends all pauses, and nothing begins after it */
  constructor(world: World, signal: AbortSignal, onFailed: (error: Error) => void) {
    this.#world = world;
    this.#signal = signal;
    this.#onFailed = onFailed;
  }

  /** Begins each action at its time. Resolves when the last has begun. */
  async run(plan: readonly Planned[]): Promise<void> {
    const began = performance.now();
    for (const action of plan) {
      await this.#pause(action.at - (performance.now() - began) / 1_000);
      if (this.#signal.aborted) return;
      this.#begin(action);
    }
  }

  /** Resolves when all actions that began have ended: every zone has joined and accepts, every process runs. */
  async ended(): Promise<void> {
    await Promise.all(this.#lanes.values());
  }

  async #pause(seconds: number): Promise<void> {
    if (seconds > 0) await delay(seconds * 1_000, undefined, { signal: this.#signal }).catch(() => undefined);
  }

  #begin(action: Action): void {
    const lane = laneOf(action);
    const next = (this.#lanes.get(lane) ?? Promise.resolve())
      .then(async () => {
        if (this.#signal.aborted) return;
        await this.#do(action);
        this.done.set(action.kind, (this.done.get(action.kind) ?? 0) + 1);
      })
      .catch((error: unknown) => this.#onFailed(error instanceof Error ? error : new Error(String(error))));
    this.#lanes.set(lane, next);
  }

  async #do(action: Action): Promise<void> {
    const { fleet, zones, postgres } = this.#world;
    switch (action.kind) {
      case 'policy':
        return await this.#writePolicy(action);
      case 'service':
        return await this.#writeService(action);
      case 'write':
        return zones.write(action.zone, action.isRemoved ? null : portOf(this.#nextRevision(`fake ${String(action.zone)}`)));
      case 'leave':
        return await this.#leave(action.zone, action.seconds);
      case 'refuse':
        return await this.#refuse(action.zone, action.seconds);
      case 'read':
        return this.#count(
          (await call({ port: this.#port(action.replica), method: 'GET', path: PAGES[action.page] ?? '/' })).status,
        );
      case 'follow':
        return this.#count(await follow(this.#port(action.replica), action.seconds));
      case 'killReplica':
      case 'killZone': {
        const member = action.kind === 'killZone' ? fleet.zones[action.zone] : fleet.replicas[action.replica];
        return member === undefined ? undefined : await fleet.restart(member, () => this.#pause(action.seconds));
      }
      case 'restartPostgres':
        return await postgres.restart(action.mode, () => this.#pause(action.seconds));
    }
  }

  async #writePolicy({ replica, index, isRemoved }: Extract<Action, { kind: 'policy' }>): Promise<void> {
    const place = { port: this.#port(replica), path: policyPath(index), key: keyOf('global', TYPE, policyName(index)) };
    await this.#write(place, isRemoved, (revision) => ({
      ...{ type: TYPE, mesh: MESH, name: policyName(index), spec: policySpec(index, revision) },
      labels: { [REVISION_LABEL]: String(revision) },
    }));
  }

  async #writeService({ zone, index, isRemoved }: Extract<Action, { kind: 'service' }>): Promise<void> {
    const member = this.#world.fleet.zones[zone];
    const [type, name] = [SERVICE_TYPE, `service-${String(index)}`];
    const path = `/meshes/${MESH}/meshservices/${name}`;
    const place = { port: member?.running?.apiPort ?? NO_PORT, path, key: keyOf(member?.name ?? '', type, name) };
    await this.#write(place, isRemoved, (revision) => ({
      ...{ type, mesh: MESH, name, spec: { ports: [{ port: portOf(revision), appProtocol: 'http' }] } },
      labels: { 'kuma.io/origin': 'zone', [REVISION_LABEL]: String(revision) },
    }));
  }

  async #write(
    { port, path, key }: { readonly port: number; readonly path: string; readonly key: string },
    isRemoved: boolean,
    bodyOf: (revision: number) => JsonObject,
  ): Promise<void> {
    const revision = this.#nextRevision(key);
    const request: Call = isRemoved
      ? { port, method: 'DELETE', path }
      : { port, method: 'PUT', path, body: JSON.stringify(bodyOf(revision)) };
    const { status, text } = await call(request);
    this.#count(status);
    this.acknowledged.take(key, isRemoved ? null : revision, status);
    // A server that is away or loses its database may say so; a write is never wrong.
    const isAllowed = status === 0 || status >= 500 || status < 300 || (isRemoved && status === 404);
    if (!isAllowed) this.refusals.push(`${request.method} ${path}: ${String(status)} ${text.slice(0, 300)}`);
  }

  async #leave(zone: number, seconds: number): Promise<void> {
    this.#world.zones.tell(zone, 'leave');
    await this.#pause(seconds);
    this.#world.zones.tell(zone, 'join');
  }

  async #refuse(zone: number, seconds: number): Promise<void> {
    this.#world.zones.tell(zone, 'refuse');
    await this.#pause(seconds);
    this.#world.zones.tell(zone, 'accept');
  }

  #port(replica: number): number {
    return this.#world.fleet.replica(replica)?.apiPort ?? NO_PORT;
  }

  #nextRevision(key: string): number {
    const next = (this.#revisions.get(key) ?? 0) + 1;
    this.#revisions.set(key, next);
    return next;
  }

  #count(status: number): void {
    this.answers.set(status, (this.answers.get(status) ?? 0) + 1);
  }
}

/** Of a service, from its revision. */
function portOf(revision: number): number {
  return 1 + (revision % PORTS);
}

/** Writes of one resource keep their order; restarts follow each other. */
function laneOf(action: Action): string {
  switch (action.kind) {
    case 'policy':
      return `policy ${String(action.index)}`;
    case 'service':
      return `service ${String(action.zone)} ${String(action.index)}`;
    case 'leave':
    case 'refuse':
      return `zone ${String(action.zone)}`;
    case 'write':
      return 'writes of fake zones';
    case 'read':
    case 'follow':
      return `${action.kind} ${String(action.replica)}`;
    case 'killReplica':
    case 'killZone':
    case 'restartPostgres':
      return 'restarts';
  }
}
