// The schemas of REST answers with a fixed form. They give the types of handlers and of the command line, and the components of the
// OpenAPI document. The command line imports only types from here, so it starts without the schemas.
import { z } from 'zod';
import {
  text,
  flag,
  count,
  list,
  json,
  object,
  change,
  outcome,
  withdrawal,
  missing,
  membership,
  overview,
  proxyCounts,
  insight,
  syncProblem,
  zoneSync,
  zoneCondition,
  versionFacts,
  meta,
  page,
  origin,
  confValue,
  effectivePolicy,
  effectiveRoute,
  proxyProblem,
  rollout,
  rolloutSummary,
  onwardSummary,
  rolloutAnswer,
  hint,
  problem,
  replicas,
  events,
  inboundRule,
  inboundValues,
  syncExplanation,
  syncVerdict,
  valueChange,
} from './answer-parts.ts';

/** How the proxies of a zone reach a port of a service, part by part. */
const way = z.object({
  type: text,
  service: text,
  port: count,
  from: text,
  to: text,
  state: z
    .enum(['ok', 'degraded', 'broken', 'unknown'])
    .meta({ description: 'unknown: a zone on it is not connected, or behind, or global keeps only counts of its proxies' }),
  callers: count,
  sharedSnis: list(
    z.object({
      sni: text,
      other: text.meta({ description: 'KRI of the port of another service with this server name' }),
      isOwn: z.boolean().meta({ description: 'whether zone proxies lead to this service, the older one' }),
    }),
  ),
  parts: list(
    z.object({
      part: z.enum(['caller', 'ingress', 'egress', 'server']),
      zone: text,
      name: text,
      address: text,
      sni: text.exactOptional(),
      state: z.enum(['ok', 'broken', 'unknown']),
      why: text,
    }),
  ),
});

export const answerSchemas = {
  Error: z.object({
    type: z.literal('/std-errors'),
    status: z.int(),
    title: text,
    detail: text,
    details: text.meta({ description: 'the detail again, for old clients' }),
    instance: text.exactOptional(),
    invalid_parameters: list(
      z.object({
        field: text,
        reason: text,
        line: count.exactOptional().meta({ description: 'in a body that was YAML' }),
        column: count.exactOptional(),
        related: text
          .exactOptional()
          .meta({ description: 'another field with which this one does not fit; the reason names it' }),
      }),
    ).exactOptional(),
    causes: list(z.object({ field: text, message: text })).exactOptional(),
    missing: missing
      .exactOptional()
      .meta({ description: 'of a 404: the resource that does not exist, or the mesh that it needs' }),
  }),
  Index: z.object({
    hostname: text,
    product: text,
    version: text,
    instanceId: text,
    clusterId: text,
    gui: text,
    mode: z.enum(['global', 'zone']),
    zone: text.exactOptional(),
    federated: z.boolean().exactOptional().meta({ description: 'of a zone: whether it has a global' }),
  }),
  WhoAmI: z.object({ name: text, groups: list(text) }),
  Change: change,
  Written: z.object({
    warnings: outcome.warnings,
    rollout: rolloutAnswer.exactOptional(),
    membership: membership
      .exactOptional()
      .meta({ description: 'of a Zone: the resources that zones lose and get by the change' }),
  }),
  DryRun: z.object({ dryRun: z.literal(true), resource: object, ...outcome }),
  VersionSummary: z.object({
    ...versionFacts,
    changed: list(text).exactOptional().meta({ description: 'the first of the changed fields, as JSON pointers' }),
    changes: count.exactOptional().meta({ description: 'the number of changed fields' }),
  }),
  Version: z.object({
    ...versionFacts,
    from: count.exactOptional().meta({ description: 'the version that `diff` begins with' }),
    diff: list(change).exactOptional(),
    resource: object.exactOptional(),
  }),
  History: z.object({
    exists: flag,
    etag: text.exactOptional().meta({ description: 'the ETag of the resource, if it exists' }),
    home: text.exactOptional().meta({ description: 'global or the zone where a copy was written; its history is there' }),
    items: list(z.object({ ...versionFacts, changed: list(text).exactOptional(), changes: count.exactOptional() })),
    next: count.nullable().meta({ description: 'for `before` of the next page' }),
  }),
  RolledBack: z.object({ dryRun: flag, restored: count, ...outcome, resource: object.exactOptional() }),
  DeleteDryRun: z.object({
    dryRun: z.literal(true),
    takes: list(z.object({ type: text, total: count })).meta({
      description: 'the resources that are deleted with a Mesh, by type',
    }),
  }),
  Applied: z.object({
    dryRun: flag,
    total: count,
    items: list(
      z.object({ type: text, mesh: text.exactOptional(), name: text, ...outcome, membership: membership.exactOptional() }),
    ),
  }),
  AdoptedStore: z.object({ zone: text, storeId: text, before: text }),
  AcceptedGlobal: z.object({ clusterId: text, before: text }),
  AuthorityRotation: z.object({
    mesh: text,
    name: text,
    authority: text.meta({ description: 'first digits of the SHA-256 of the certificate that signs' }),
    step: z.enum(['none', 'requested', 'distribute', 'renew']),
    waiting: count.meta({ description: 'connected proxies that have not done their part of the step' }),
    waitsFor: list(text).meta({ description: 'names of the first of them' }),
    until: text.meta({ description: 'the step does not end before this' }),
  }),
  ZoneOverview: z.object({
    ...overview,
    zone: object,
    zoneInsight: insight,
    sync: zoneSync,
    proxies: proxyCounts.exactOptional().meta({ description: 'where global keeps only counts of the proxies of the zone' }),
    syncProblems: list(syncProblem).exactOptional(),
    warnings: outcome.warnings,
  }),
  DataplaneOverview: z.object({
    ...overview,
    dataplane: object,
    dataplaneInsight: insight,
    insightUnknown: text.exactOptional().meta({
      description: 'why nothing is known of the proxy here: global keeps only counts, and its zone has more',
    }),
    proxyProblems: list(proxyProblem).exactOptional(),
    proxyProblemCount: count.exactOptional(),
  }),
  Effective: z.object({
    dataplane: meta,
    kri: text,
    warnings: list(text),
    problems: list(proxyProblem).exactOptional(),
    policies: list(z.object({ kind: text, conf: object, origins: list(origin), values: list(confValue) })),
    inbounds: list(
      z.object({
        kri: text,
        type: text,
        port: z.int(),
        protocol: text,
        policies: list(z.object({ kind: text, conf: json, rules: list(inboundRule), inForce: list(inboundValues) })),
      }),
    ),
    outbounds: list(
      z.object({
        kri: text,
        port: z.int(),
        protocol: text,
        policies: list(effectivePolicy),
        routes: list(effectiveRoute),
      }),
    ),
    ...page,
  }),
  /** Envoy resources by type URL and name, as proto3 JSON. */
  ProxyConfig: z.object({ xds: object, diff: list(change).exactOptional() }),
  Reach: z.object({
    policy: meta,
    kri: text,
    role: text,
    warnings: list(text),
    untouched: list(z.object({ reason: text, proxies: count })),
    touched: list(
      z.object({
        kri: text,
        dataplane: meta,
        sections: list(text),
        destinations: list(text),
        problems: list(proxyProblem).exactOptional(),
      }),
    ),
    ...page,
  }),
  MeshTls: z.object({
    mesh: text,
    expectedBy: list(text).meta({ description: 'types of resources in the mesh that ask for more than plain text' }),
    services: z
      .object({ total: count, strict: count, permissive: count, plaintext: count, unknown: count.exactOptional() })
      .meta({
        description:
          'MeshServices with proxies. strict: clients need a certificate of the mesh; permissive: plain text is taken too; unknown: ' +
          'this control plane does not know the state of their proxies',
      }),
    items: list(
      z.object({
        service: meta,
        storedName: text,
        kri: text,
        zone: text,
        tls: z.enum(['permissive', 'plaintext', 'unknown']),
        reason: text,
      }),
    ),
    withdrawals: list(withdrawal).meta({ description: 'MeshIdentities that proxies of this zone are losing' }),
    ...page,
  }),
  /** The ways in which the proxies of each zone reach a service, part by part. */
  Ways: z.object({
    kri: text,
    items: list(way),
    ...page,
  }),
  /** Where a name leads that the application of a proxy calls. */
  NameWay: z.object({
    hostname: text,
    dataplane: text,
    zone: text,
    state: way.shape.state,
    parts: list(
      z.object({
        part: z.enum(['name', 'address', 'listener', 'route']),
        value: text.meta({
          description: 'the service with the name, its virtual address, a listener, or routes and what they lead to',
        }),
        state: z.enum(['ok', 'broken', 'unknown']),
        why: text,
      }),
    ),
    ways: list(way).meta({ description: 'from the proxy to the servers, for each port that the routes lead to' }),
  }),
  Events: events.meta({ description: 'text/event-stream: the data of each event, by its name' }),
  Problem: problem,
  Hint: hint,
  Replicas: replicas,
  ZoneSummary: z.object({
    name: text,
    state: zoneSync.shape.state,
    since: zoneSync.shape.since,
    lagMs: zoneSync.shape.lagMs,
    pending: zoneSync.shape.pending,
    version: text.nullable().meta({ description: 'of its control plane; null while unknown' }),
    ...zoneCondition,
  }),
  ZoneProgress: z.object({
    name: text,
    sync: zoneSync,
    instanceId: text.nullable().meta({ description: 'the replica with its stream; null without one' }),
    types: list(
      z.object({
        type: text,
        behind: count.meta({ description: 'resources that the zone has not confirmed; 1000 is that or more' }),
        since: text.nullable().meta({ description: 'when the oldest of them came' }),
        oldestMs: count,
        confirmedAt: text.nullable().meta({ description: 'when the zone confirmed something last, on this stream' }),
        refused: count,
        withheld: count,
      }),
    )
      .nullable()
      .meta({ description: 'null: the zone has no stream, or its replica did not answer' }),
  }),
  Rollout: rolloutAnswer,
  ChangeSummary: z.object({ id: count, type: text, mesh: text.exactOptional(), name: text, ...rollout, ...rolloutSummary }),
  OnwardSummary: z.object({
    id: count.meta({ description: 'the number of the change in this zone' }),
    onward: onwardSummary.exactOptional(),
    onwardNote: text.exactOptional().meta({ description: 'why it is not known' }),
  }),
  SyncExplanation: syncExplanation,
  SyncMatrix: z.object({
    total: count,
    zones: list(text)
      .exactOptional()
      .meta({ description: 'names; in a zone its global and the other zones. Left out where the query has their version' }),
    zonesVersion: text.meta({ description: 'of the list `zones`: equal lists have the same one, at every replica' }),
    items: list(
      z.object({
        resource: meta,
        storedName: text,
        kri: text.exactOptional(),
        verdicts: list(syncVerdict),
        runs: list(count).meta({
          description: 'the index of a verdict, then for how many zones it counts, and so on, in the order of `zones`',
        }),
      }),
    ),
    next: text.nullable(),
  }),
  Preview: z.object({
    items: list(
      z.object({
        type: text,
        mesh: text.exactOptional(),
        name: text,
        ...outcome,
        result: z.enum(['created', 'updated', 'unchanged', 'deleted']),
        takes: list(z.object({ type: text, total: count }))
          .exactOptional()
          .meta({ description: 'the resources that are deleted with a Mesh, by type' }),
        sentTo: count.meta({ description: 'zones that would get it by the rules, or lose it; `sync` may list fewer' }),
        sync: syncExplanation,
        membership: membership.exactOptional().meta({ description: 'of a Zone: the resources that zones would lose and get' }),
      }),
    ),
    proxies: z.object({
      candidates: count.meta({ description: 'proxies that the documents may touch' }),
      compared: count.meta({ description: 'the proxies whose values were compared, the first by name' }),
      changed: count,
      items: list(
        z.object({
          dataplane: meta,
          kri: text,
          zone: text,
          isNew: flag.meta({ description: 'the documents make the proxy' }),
          isGone: flag.exactOptional().meta({ description: 'the proxy would be deleted' }),
          total: count.meta({ description: 'values that change; `changes` may list fewer' }),
          changes: list(valueChange),
        }),
      ),
    }),
  }),
};

/** The type of an answer by the name of its component. */
export type Answer<Name extends keyof typeof answerSchemas> = z.infer<(typeof answerSchemas)[Name]>;
