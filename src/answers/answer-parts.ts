// Parts that answers of the REST API are made of: schemas of values and of objects that stand in several answers.
import { z } from 'zod';
import type { Json, JsonObject } from '../resource/types.ts';

export const text = z.string();
export const flag = z.boolean();
export const count = z.int().min(0);
export const list = <T>(item: z.ZodType<T>): z.ZodType<readonly T[]> => z.array(item) as z.ZodType as z.ZodType<readonly T[]>;
export const json = z.unknown() as unknown as z.ZodType<Json>;
export const object = z.record(text, z.unknown()) as unknown as z.ZodType<JsonObject>;
const labels = z.record(text, text);

export const change = z.object({ op: z.enum(['add', 'remove', 'replace']), path: text, value: json.exactOptional() });
export const outcome = {
  result: z.enum(['created', 'updated', 'unchanged']),
  version: count,
  warnings: list(text).exactOptional(),
  diff: list(change).exactOptional(),
};
export const withdrawal = z.object({
  name: text,
  storedName: text,
  step: z.enum(['open', 'clients', 'trust']),
  since: text,
  until: text.meta({ description: 'the step does not end before this' }),
  services: count.meta({ description: 'MeshServices of the proxies that lose it' }),
  waiting: count.meta({ description: 'connected proxies that have not done their part of the step' }),
  waitsFor: list(text).meta({ description: 'names of the first of them' }),
});
const rowGroups = z.object({
  total: count,
  groups: list(
    z.object({
      type: text,
      mesh: text,
      total: count,
      names: list(text).meta({ description: 'the first of them, as this control plane stores them' }),
    }),
  ),
});
export const membership = z.object({
  zone: text,
  loses: rowGroups.meta({ description: 'what the zone no longer gets; `total` also counts groups that are not listed' }),
  gets: rowGroups,
  othersLose: rowGroups.meta({ description: 'resources of the zone that other zones no longer get' }),
  othersGet: rowGroups,
});
export const missing = z.object({ type: text, mesh: text.exactOptional(), name: text });

export const overview = {
  type: text,
  name: text,
  mesh: text.exactOptional(),
  kri: text.exactOptional(),
  labels: labels.exactOptional(),
};
const version = z.object({ version: text.exactOptional() }).exactOptional();
/** 64-bit counts are strings in proto3 JSON. */
const subscription = z.object({
  connectTime: text.exactOptional(),
  disconnectTime: text.exactOptional(),
  status: z
    .object({
      lastUpdateTime: text.exactOptional(),
      total: z.object({ responsesSent: text.exactOptional(), responsesRejected: text.exactOptional() }).exactOptional(),
    })
    .exactOptional(),
  version: z.object({ kumaCp: version, kumaDp: version, envoy: version }).exactOptional(),
  config: text.exactOptional(),
});
export const insight = z.object({ subscriptions: list(subscription).exactOptional() }).exactOptional();
const statusCounts = { total: count, online: count, offline: count, partiallyDegraded: count, unknown: count.exactOptional() };
export const proxyCounts = z.object({ ...statusCounts, meshes: list(z.object({ mesh: text, ...statusCounts })) });
export const syncProblem = z.object({
  stream: text,
  type: text,
  kind: text,
  resources: list(text),
  count,
  message: text,
});

/** The present state of a zone. */
export const zoneSync = z.object({
  state: z.enum(['online', 'lagging', 'refused', 'offline', 'disabled']).meta({
    description:
      'online: connected, and at most for a moment behind. lagging: connected, and changes wait for its answer. refused: not ' +
      'connected, because its calls are refused. offline: not connected. disabled: a person has disabled it',
  }),
  connection: z.enum(['online', 'lagging', 'refused', 'offline']).meta({ description: 'the state, were the zone not disabled' }),
  since: text.nullable().meta({ description: 'since when the connection has this state' }),
  pending: list(text).meta({ description: 'types with changes that the zone has not confirmed' }),
  lagMs: count.meta({ description: 'milliseconds since the oldest of these changes' }),
  reason: text,
});

/** The state of a zone besides its sync. */
export const zoneCondition = {
  enabled: flag,
  refused: count.meta({ description: 'resources that the zone or its peer refuses, or may refuse' }),
  withheld: count.meta({ description: 'resources that cannot be sent in a form that the peer reads' }),
  replica: text.nullable().meta({ description: 'the instance of global with its stream; null without one' }),
  reason: text.meta({ description: 'why the zone is not connected or behind, else its first problem; empty without one' }),
};

export const versionFacts = {
  version: count.meta({ description: 'the version of the row; it continues when a deleted resource is created again' }),
  etag: text.meta({ description: 'the version of the row then; If-Match takes it too' }),
  action: z.enum(['created', 'updated', 'deleted']),
  by: text.exactOptional().meta({ description: 'the user, or the role of the database' }),
  via: z.enum(['api', 'database', 'control-plane', 'unknown']).meta({
    description: 'unknown: a control plane wrote it, or it is older than the history',
  }),
  time: text,
  zone: text.exactOptional().meta({ description: 'the zone that the labels name' }),
  restored: count.exactOptional().meta({ description: 'the version that a rollback wrote again' }),
  isHidden: flag.exactOptional().meta({ description: 'a secret: the history has no data of it' }),
};
export const meta = z.object({ type: text, mesh: text, name: text, labels });
export const page = { total: count, next: text.exactOptional() };
export const origin = z.object({ kri: text, name: text, ruleIndex: z.int() });
/** A value of a conf, and the rules that set it. */
export const confValue = z.object({ path: text, value: json, origins: list(origin) });
export const effectivePolicy = z.object({
  kind: text,
  level: text,
  kri: text,
  conf: list(json),
  values: list(confValue),
  hashPolicies: list(json).nullable().exactOptional(),
  note: text.exactOptional().meta({ description: 'why a part of the conf does nothing' }),
});
/** A value that a document would set. */
const valueInForce = z.object({ value: json, origins: list(origin) });
export const effectiveRoute = z.object({
  kind: text,
  kri: text,
  matches: list(object).nullable(),
  conf: json,
  note: text.exactOptional(),
  policies: list(effectivePolicy),
});
/** A part of the configuration that a proxy lacks: the proxy refuses it, or it could not be built. */
export const proxyProblem = z.object({
  kind: z.enum(['refused', 'leftOut']),
  at: text.meta({ description: 'type and name of the refused resource, or the field at fault' }),
  reason: text,
  policies: list(text).meta({
    description: 'KRIs of the cause, or of the policies in force on the resource, the last changed first',
  }),
  time: text.exactOptional(),
});
const PEER_STATES = ['acknowledged', 'refused', 'withheld', 'sent', 'pending', 'away', 'unknown', 'hidden'] as const;
export const rollout = {
  version: count.nullable().meta({ description: 'of the row; null when it was removed' }),
  isRemoval: flag.meta({ description: 'zones remove the resource' }),
  committedAt: text,
};
export const rolloutSummary = {
  outcome: z.enum(['everywhere', 'refused', 'waiting', 'away']).meta({
    description:
      'refused: at least one peer refused it or cannot read it; waiting: at least one connected peer has not answered; away: all ' +
      'connected peers have it',
  }),
  counts: z.object(
    Object.fromEntries(PEER_STATES.map((state) => [state, count])) as Record<(typeof PEER_STATES)[number], typeof count>,
  ),
  medianMs: count.exactOptional().meta({ description: 'from the commit to the acknowledgement' }),
  slowestMs: count.exactOptional(),
};
const rolloutTargets = list(
  z.object({
    to: text.meta({ description: 'a zone, or global' }),
    state: z.enum(PEER_STATES).meta({
      description:
        'withheld: it cannot be sent in a form that the peer reads; hidden: no rule sends it there; away: not connected; unknown: ' +
        'connected to a replica that did not answer',
    }),
    sentMs: count.exactOptional().meta({ description: 'after the commit' }),
    acknowledgedMs: count.exactOptional().meta({ description: 'after the commit' }),
    reason: text.exactOptional(),
  }),
);
/** The way of a resource of a zone from global to the other zones. */
export const onwardSummary = z.object({
  note: text.exactOptional().meta({ description: 'why global sends it to no other zone' }),
  ...rolloutSummary,
});
export const onwardRollout = z.object({
  ...onwardSummary.shape,
  targets: rolloutTargets.meta({
    description: 'the zones that should have it; if they are many, first those that lack it, then the slowest',
  }),
  omitted: count.exactOptional().meta({ description: 'zones that are not listed' }),
});
export const rolloutAnswer = z.object({
  type: text,
  mesh: text.exactOptional(),
  name: text,
  change: count.exactOptional().meta({ description: 'its number in /_changes; left out where the change is no longer kept' }),
  version: rollout.version.exactOptional(),
  isRemoval: rollout.isRemoval.exactOptional(),
  committedAt: rollout.committedAt.exactOptional(),
  note: text.exactOptional().meta({ description: 'why the resource is sent to no peer' }),
  ...rolloutSummary,
  targets: rolloutTargets,
  onward: onwardRollout.exactOptional().meta({
    description: 'in a zone, once global has it: the other zones, as global knows them. Times count from the commit on global',
  }),
  onwardNote: text.exactOptional().meta({ description: 'in a zone: why the state of the other zones is not known' }),
});
export const problem = z.object({
  id: text.meta({ description: 'the same as long as the problem lasts' }),
  code: text.meta({ description: 'the kind of problem' }),
  zone: text.exactOptional(),
  type: text.exactOptional(),
  mesh: text.exactOptional(),
  resources: list(text).exactOptional().meta({ description: 'names of the first of them; empty: all of the type' }),
  count: count.exactOptional().meta({ description: 'how many resources or services' }),
  instanceId: text.exactOptional(),
  since: text.nullable().meta({ description: 'null: unknown' }),
  until: text.exactOptional().meta({ description: 'when a token or a certificate ends' }),
  message: text,
  remedy: text,
  runbook: text.meta({ description: 'the section of docs/runbook.md' }),
});
export const hint = z.object({
  code: text.meta({ description: 'the kind of hint' }),
  zone: text,
  mesh: text,
  count: count.meta({ description: 'how many places it is about' }),
  message: text,
  remedy: text,
});
export const replicas = z.object({
  leader: text.nullable().meta({ description: 'instanceId; null while no replica leads' }),
  replicas: list(
    z.object({
      instanceId: text,
      version: text,
      isLeader: flag,
      since: text.meta({ description: 'since when it leads, or does not' }),
      zones: count.nullable().meta({ description: 'zones with a stream to it; null for a replica that does not share zones' }),
      isDraining: flag.meta({ description: 'it stops, and takes no more zones' }),
      lastSeen: text,
    }),
  ),
});
const removed = z.object({ name: text, isRemoved: z.literal(true) });
const batch = <T>(item: z.ZodType<T>): z.ZodType<{ readonly items: readonly T[] }> => z.object({ items: list(item) });
/** The data of `GET /_events`, by the name of the event. */
export const events = z.object({
  resync: z
    .object({ reason: z.enum(['started', 'expired', 'unknown']), instanceId: text })
    .meta({ description: 'read the lists now: all later changes follow. The first event of a stream that cannot resume' }),
  zones: batch(
    z.union([
      z.object({
        ...{ name: text, sync: zoneSync, version: text.exactOptional(), syncProblems: count, ...zoneCondition },
        hasNewProfile: z.literal(true).exactOptional().meta({
          description: '`enabled`, meshes or labels of the Zone differ from its last event: it may get other resources',
        }),
      }),
      removed,
    ]),
  ).meta({ description: 'zones whose state changed; `sync` as in /zones/_overview, the others as in /zones/_summary' }),
  lag: batch(z.object({ name: text, lagMs: count, pending: list(text) })).meta({
    description: 'zones that are behind, each second; once with 0 when they no longer are',
  }),
  changes: batch(
    z.object({
      id: count,
      type: text,
      mesh: text.exactOptional(),
      name: text,
      ...rollout,
      isNew: flag.meta({ description: 'zones did not have the resource before' }),
      targets: count.meta({ description: 'zones that should have it' }),
      sent: count,
      applied: count.meta({ description: 'zones that have acknowledged it' }),
      refused: count,
      slowestMs: count.exactOptional().meta({ description: 'from the commit to the last acknowledgement' }),
    }),
  ).meta({ description: 'new changes, and those that zones have answered; `id` as in /_changes' }),
  problems: batch(z.union([problem, z.object({ id: text, isSolved: z.literal(true) })])).meta({
    description: 'as in /_problems',
  }),
  leader: batch(replicas).meta({ description: 'as /_replicas, when a replica comes, goes, leads or ceases to lead' }),
});
export const inboundRule = z.object({ match: object.exactOptional(), conf: object, origin });
/** Values in force on an inbound for requests with a match, or for all. */
export const inboundValues = z.object({ match: object.exactOptional(), values: list(confValue) });
const SYNC_STATES = ['inSync', 'pending', 'refused', 'withheld', 'away', 'turnedAway', 'unknown'] as const;
/** The state of a resource in some zones. */
export const syncVerdict = z.object({
  isSent: flag.meta({ description: 'whether the rules send it' }),
  name: text.nullable().meta({ description: 'there' }),
  reason: text.meta({ description: 'the rule' }),
  needs: text.exactOptional(),
  state: z.enum(SYNC_STATES).exactOptional().meta({ description: 'of a resource that the rules send, as in SyncExplanation' }),
  why: text.exactOptional().meta({ description: 'why the zones do not have it' }),
});
/** The rules for a resource, by zone. */
export const syncExplanation = z.object({
  resource: meta,
  storedName: text,
  kri: text.exactOptional(),
  role: z.object({ label: text, computed: text.nullable() }).exactOptional(),
  from: text,
  withoutLabels: list(text).exactOptional().meta({ description: 'labels that are not sent' }),
  targets: list(
    z.object({
      to: text,
      isSent: flag.meta({ description: 'whether the rules send it; `state` is the present state' }),
      name: text.nullable(),
      reason: text,
      needs: text.exactOptional(),
      problem: z.object({ kind: text, message: text }).exactOptional(),
      zone: zoneSync.exactOptional(),
      state: z
        .object({
          kind: z.enum(SYNC_STATES).meta({
            description:
              'inSync: it has this version. pending: it has not confirmed the last change. refused: it refuses the resource. ' +
              'withheld: it could not read it. away: it is not connected. turnedAway: its calls are refused. unknown: another ' +
              'replica knows',
          }),
          version: count.exactOptional().meta({ description: 'version of the row' }),
          since: text.nullable(),
          reason: text,
        })
        .exactOptional()
        .meta({ description: 'of a resource that the rules send' }),
      confirmed: z
        .object({ version: count.meta({ description: 'of the row' }), at: text })
        .exactOptional()
        .meta({ description: 'the last version that it has confirmed to this replica; left out where that is unknown' }),
    }),
  ),
});
export const valueChange = z.object({
  on: z.enum(['proxy', 'inbound', 'outbound', 'route']),
  kri: text.meta({ description: 'of the proxy, its inbound, or the port of a service' }),
  route: text.exactOptional().meta({ description: 'KRI of the route' }),
  matches: json.exactOptional().meta({ description: 'the requests for which the value counts; left out for all' }),
  kind: text.meta({ description: 'type of the policy' }),
  path: text,
  before: valueInForce.nullable().meta({ description: 'null: nothing sets it today' }),
  after: valueInForce.nullable().meta({ description: 'null: nothing would set it' }),
});
