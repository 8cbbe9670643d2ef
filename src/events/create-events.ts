// The events of a control plane: the hub with its sources.
import type { SyncEvent } from '../kds/protocol/sync-events.ts';
import type { CurrentProblems } from '../problems/current-problems.ts';
import type { ReplicaRoster } from '../replicas/replica-roster.ts';
import { isOpen, subscriptionsOf } from '../resource/online-status.ts';
import { textOf } from '../resource/read-json.ts';
import type { Following } from '../store/follow-feed.ts';
import type { LagOf } from '../zone-status/zone-sync.ts';
import { ChangeEvents, type ChangeEventsOptions } from './change-events.ts';
import { EventHub } from './event-hub.ts';
import { leaderEvents } from './leader-events.ts';
import { ProblemEvents } from './problem-events.ts';
import { ZoneEvents } from './zone-events.ts';
import type { ZoneRowsStore } from './zone-rows.ts';

export type Events = {
  readonly hub: EventHub;
  /** Records an event of a stream; never throws, never waits. */
  readonly observe: (event: SyncEvent) => void;
  /** The summary of each zone, by name. Rejects when the store does not answer. */
  readonly summaries: ZoneEvents['summaries'];
  /** The zones in memory. */
  readonly zones: Pick<ZoneEvents, 'caughtUp' | 'followed'>;
};

type EventsOptions = Following & {
  readonly store: ZoneRowsStore;
  readonly lagOf: LagOf;
  readonly receipts: ChangeEventsOptions['receipts'];
  /** The id of this replica. */
  readonly instanceId: string;
  readonly problems: CurrentProblems;
  readonly roster: ReplicaRoster;
};

export function createEvents({ store, lagOf, receipts, problems, roster, instanceId, clock, log }: EventsOptions): Events {
  const following = { clock, log: log.child({ component: 'events' }) };
  const zones = new ZoneEvents({ store, lagOf, ...following });
  const ofProblems = new ProblemEvents({ zones, current: problems, roster, ...following });
  const others = (): ReadonlySet<string> =>
    new Set(
      roster
        .replicas()
        .filter((one) => one.instanceId !== instanceId && !roster.isSilent(one))
        .map((one) => one.instanceId),
    );
  const isElsewhere = (zone: string): boolean => {
    const { spec = {} } = zones.stateOf(zone)?.insight ?? {};
    return subscriptionsOf(spec).some((one) => isOpen(one) && textOf(one['globalInstanceId']) !== instanceId);
  };
  const changes = new ChangeEvents({ receipts, others, isElsewhere, ...following });
  const hub = new EventHub([zones, changes, ofProblems, leaderEvents(roster)], following);
  return { hub, observe: (event) => zones.observe(event), summaries: () => zones.summaries(), zones };
}
