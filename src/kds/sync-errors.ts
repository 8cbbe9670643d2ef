// The last refusal of each (zone, type), for people: ZoneInsight has no field for it (kds-wire 4), so it lives in memory and in
// the log of the process that serves the zone.
import type { Logger } from '../base/log.ts';
import type { SyncEvent } from './observer.ts';

export type SyncError = {
  readonly zone: string;
  readonly type: string;
  /** Wire names of the refused resources; empty when the peer did not say which. */
  readonly resources: readonly string[];
  readonly message: string;
  readonly time: Date;
  /** True when the peer has accepted a later response of this type: the rest of the type flows. */
  readonly acceptedSince: boolean;
};

export class SyncErrors {
  readonly #log: Logger;
  readonly #now: () => Date;
  /** Per zone: the stream they came on, and one per type. */
  readonly #errors = new Map<string, { readonly streamId: string; readonly types: Map<string, SyncError> }>();

  constructor(log: Logger, now: () => Date = () => new Date()) {
    this.#log = log;
    this.#now = now;
  }

  /** Takes an event in; never throws, never waits. */
  observe(event: SyncEvent): void {
    // A fresh stream tries everything again.
    if (event.kind === 'sent' && this.#errors.get(event.peer)?.streamId !== event.streamId) this.#errors.delete(event.peer);
    if (event.kind === 'rejected') this.#keep(event);
    if (event.kind === 'acknowledged') this.#settle(event.peer, event.type);
  }

  /** The last refusal per zone and type since the zone connected, of one zone or of all. */
  list(zone?: string): SyncError[] {
    const found = [...this.#errors].filter(([name]) => zone === undefined || name === zone);
    return found.flatMap(([, { types }]) => [...types.values()]);
  }

  #keep({ peer: zone, streamId, type, refused: resources, message }: SyncEvent & { kind: 'rejected' }): void {
    let errors = this.#errors.get(zone);
    if (errors?.streamId !== streamId) this.#errors.set(zone, (errors = { streamId, types: new Map() }));
    errors.types.set(type, { zone, type, resources, message, time: this.#now(), acceptedSince: false });
    this.#log.warn({ zone, type, resources, reason: message }, 'the peer refused resources');
  }

  #settle(zone: string, type: string): void {
    const types = this.#errors.get(zone)?.types;
    const error = types?.get(type);
    if (error !== undefined) types?.set(type, { ...error, acceptedSince: true });
  }
}
