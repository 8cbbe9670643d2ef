// The topic `problems`: each problem when it begins, changes or is solved. The problems of a zone are looked at with the zone,
// all others once a minute and when a replica comes or goes.
import { every } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import { together } from '../base/supervise.ts';
import type { CurrentProblems } from '../problems/current-problems.ts';
import type { Problem } from '../problems/problem.ts';
import type { ReplicaRoster } from '../replicas/replica-roster.ts';
import type { Following } from '../store/follow-feed.ts';
import type { EventSource, Tell } from './event-hub.ts';
import type { EventItem } from './event-ring.ts';
import type { ZoneEvents } from './zone-events.ts';

const POLL_MS = 60_000;
/** The key of the problems that belong to no single zone. */
const BESIDES = '';

type Options = Following & {
  readonly zones: ZoneEvents;
  readonly current: Pick<CurrentProblems, 'ofZone' | 'besides'>;
  readonly roster: Pick<ReplicaRoster, 'onChange'>;
};

export class ProblemEvents implements EventSource {
  readonly name = 'problems';
  readonly render: EventSource['render'] = { problems: (id) => this.#render(id) };
  readonly #options: Options;
  /** The problems by id, for each zone and for `BESIDES`. */
  readonly #scopes = new Map<string, ReadonlyMap<string, EventItem>>();
  /** The last published problems, by id. */
  readonly #last = new Map<string, EventItem>();

  constructor(options: Options) {
    this.#options = options;
  }

  async run({ touch, loaded }: Tell, signal: AbortSignal): Promise<void> {
    const { zones, current, roster, clock, log } = this.#options;
    const firstZones = Promise.withResolvers<void>();
    let isLoaded = false;
    const update = (scope: string, problems: readonly Problem[]): void => {
      const changed = this.#set(scope, problems);
      if (isLoaded) changed.forEach((id) => touch('problems', id));
    };
    const lookBesides = async (): Promise<void> => {
      const known = [...zones.names()].flatMap((name) => zones.stateOf(name) ?? []);
      await current.besides(known).then(
        (problems) => update(BESIDES, problems),
        (error: unknown) => log.debug({ reason: messageOf(error) }, 'the problems were not looked at'),
      );
    };
    const stopZones = zones.onLook((names) => {
      for (const name of names) {
        const state = zones.stateOf(name);
        update(name, state === null ? [] : current.ofZone(state));
      }
      firstZones.resolve();
    });
    const stopRoster = roster.onChange(() => void lookBesides());
    signal.addEventListener('abort', () => firstZones.resolve(), { once: true });
    try {
      await firstZones.promise;
      await lookBesides();
      for (const problems of this.#scopes.values()) for (const [id, item] of problems) this.#last.set(id, item);
      isLoaded = true;
      loaded();
      await together(signal, (either) => every(clock, POLL_MS, either, lookBesides));
    } finally {
      stopZones();
      stopRoster();
      this.#scopes.clear();
      this.#last.clear();
    }
  }

  /** @returns the ids of problems that began, changed or ended */
  #set(scope: string, problems: readonly Problem[]): string[] {
    const before = this.#scopes.get(scope) ?? new Map<string, EventItem>();
    const after = new Map(
      problems.map((one): [string, EventItem] => [one.id, { json: JSON.stringify(one), type: one.type ?? null }]),
    );
    if (after.size === 0) this.#scopes.delete(scope);
    else this.#scopes.set(scope, after);
    const ids = new Set([...before.keys(), ...after.keys()]);
    return [...ids].filter((id) => before.get(id)?.json !== after.get(id)?.json);
  }

  #render(id: string): EventItem | null {
    const item = this.#find(id);
    const last = this.#last.get(id);
    if (item?.json === last?.json) return null;
    if (item !== undefined) {
      this.#last.set(id, item);
      return item;
    }
    this.#last.delete(id);
    return last === undefined ? null : { json: JSON.stringify({ id, isSolved: true }), type: last.type };
  }

  #find(id: string): EventItem | undefined {
    // The second part of the id of a problem of a zone is the zone.
    return this.#scopes.get(id.split('/')[1] ?? '')?.get(id) ?? this.#scopes.get(BESIDES)?.get(id);
  }
}
