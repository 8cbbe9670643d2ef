// The parts of every control plane, on both sides: its identity, the rules and streams of the sync, the other replicas, and the answers for
// people.
import { hostname } from 'node:os';
import { randomUUID } from 'node:crypto';
import type { Registry } from 'prom-client';
import type { MembershipChangeOf } from '../writes/membership-change.ts';
import type { Clock } from '../base/clock.ts';
import type { Config } from '../base/config.ts';
import { createExpiryMetrics, type ExpiryMetrics } from '../base/expiry-metrics.ts';
import type { Logger } from '../base/log.ts';
import { productVersion } from '../base/version.ts';
import { createEvents, type Events } from '../events/create-events.ts';
import { GlobalLink } from '../kds/client/global-link.ts';
import { OpenSenders } from '../kds/sender/open-senders.ts';
import type { SendRules } from '../kds/protocol/rules.ts';
import type { MeshIndexes } from '../mesh-index/mesh-indexes.ts';
import { ProxyInsights } from '../zone-status/proxy-insights.ts';
import { CurrentProblems, type ProblemSources } from '../problems/current-problems.ts';
import { DeliveryQuestions } from '../receipts/delivery-questions.ts';
import { OnwardQuestions } from '../receipts/onward-questions.ts';
import { Receipts } from '../receipts/receipts.ts';
import { ReplicaQuestions } from '../replicas/replica-questions.ts';
import { ZoneProgress } from '../receipts/zone-progress.ts';
import { BEAT_MS, ReplicaRoster, SHARING_BEAT_MS } from '../replicas/replica-roster.ts';
import type { ControlPlaneIdentity } from '../resource/compute-labels.ts';
import { answerInTime } from '../store/answer-in-time.ts';
import type { ResourceStore } from '../store/resource-store.ts';
import { identityOf, sendRulesOf, type Side } from './side.ts';
import { createTokens, type Tokens } from './tokens.ts';

/** The parts of a control plane that both sides have. Their components run from the start. */
export type Parts = {
  readonly side: Side;
  /** The writer of this control plane's rows. */
  readonly identity: ControlPlaneIdentity;
  readonly config: Config;
  readonly clock: Clock;
  readonly log: Logger;
  readonly instanceId: string;
  readonly registry: Registry;
  readonly expiries: ExpiryMetrics;
  readonly store: ResourceStore;
  /** The same store for people who wait for an answer: it rejects when the database is silent. */
  readonly answering: ResourceStore;
  /** The rules for sending rows to the other side. */
  readonly rules: SendRules;
  /** The streams of this process that send resources. */
  readonly senders: OpenSenders;
  /** The receipts of the changes that this process sends. */
  readonly receipts: Receipts;
  /** The other replicas of this control plane. */
  readonly roster: ReplicaRoster;
  /** On global: the resources that it does not forward, by zone and mesh, and the effect of a change of a Zone. src/global sets both. */
  readonly membership: { notForwarded: ProblemSources['notForwarded']; changeOf: MembershipChangeOf };
  /** In a zone: the proxies that this process did not let in lately. src/zone sets it. */
  readonly admission: { refused: ProblemSources['refusedProxies'] };
  /** On global: the kinds of losses that keep the port for zones closed after a takeover. src/global sets it. */
  readonly takeover: { kinds: ProblemSources['takeoverLosses'] };
  /** The problems that people should look at. */
  readonly problems: CurrentProblems;
  /** The progress of the zones of all replicas. */
  readonly progress: ZoneProgress;
  /** Questions to the other replicas: the state of resources in their zones. */
  readonly deliveries: DeliveryQuestions;
  /** The connection of this process to global; without a connection on global. */
  readonly link: GlobalLink;
  /** Questions to global: the state of a change in the other zones. */
  readonly onward: OnwardQuestions;
  /** The events for callers who follow them. */
  readonly events: Events;
  readonly tokens: Tokens;
  /** The indexes for policies, one for each requested mesh. */
  readonly indexes: MeshIndexes;
};

type Given = Pick<Parts, 'side' | 'config' | 'clock' | 'log' | 'registry' | 'store' | 'indexes'> & {
  /** Runs with the process, and is restarted after a failure. */
  readonly component: (name: string, task: (signal: AbortSignal) => Promise<void>) => void;
};

/** Rejects when the secrets of tokens cannot be read. */
export async function createParts(given: Given): Promise<Parts> {
  const { side, config, clock, log, registry, store, component } = given;
  const identity = identityOf(side);
  const instanceId = newInstanceId();
  const answering = answerInTime(store, clock);
  const asking = { store: answering, instanceId, clock, log };
  const senders = new OpenSenders({ isAlone: side.mode === 'zone' && !side.hasGlobal });
  const lagOf: OpenSenders['lagOf'] = (zone) => senders.lagOf(zone);

  const questions = new ReplicaQuestions({ ...asking, log: log.child({ component: 'questions of replicas' }) });
  component('questions of replicas', (signal) => questions.run(signal));
  const receipts = new Receipts({ ...asking, questions, mode: side.mode });
  const sharesZones = side.mode === 'global' && config.store.type === 'postgres';
  const roster = new ReplicaRoster({ ...asking, version: productVersion, beatMs: sharesZones ? SHARING_BEAT_MS : BEAT_MS });
  component('replicas', (signal) => roster.run(signal));
  const progress = new ZoneProgress({ instanceId, mode: side.mode, questions, senders });
  const deliveries = new DeliveryQuestions({ questions, senders });
  const link = new GlobalLink();
  const onward = new OnwardQuestions({ questions, receipts, link });

  const expiries = createExpiryMetrics(registry);
  const membership: Parts['membership'] = { notForwarded: () => new Map(), changeOf: async () => null };
  const admission: Parts['admission'] = { refused: () => [] };
  const takeover: Parts['takeover'] = { kinds: () => [] };
  const problems = new CurrentProblems({
    ...{ mode: side.mode, zone: identity.zone, instanceId, productVersion },
    ...{ store: answering, lagOf, roster, ends: () => expiries.ends(), clock },
    insights: new ProxyInsights({ store: answering, kept: side.mode === 'global' ? config.multizone.global.insights : 'all' }),
    indexes: given.indexes,
    notForwarded: () => membership.notForwarded(),
    takeoverLosses: () => takeover.kinds(),
    refusedProxies: () => admission.refused(),
  });
  const events = createEvents({ ...asking, lagOf, receipts, problems, roster });
  const tokens = await createTokens(answering, config, identity.federated, clock);
  component('token secrets', (signal) => tokens.secrets.run({ clock, log }, signal));
  return {
    ...{ side, identity, config, clock, log, instanceId, registry, expiries, store, answering },
    ...{
      rules: sendRulesOf(side, config),
      indexes: given.indexes,
      senders,
      receipts,
      roster,
      membership,
      admission,
      takeover,
      problems,
    },
    ...{ progress, deliveries, link, onward, events, tokens },
  };
}

/** A name for this process among the replicas, of this start. */
function newInstanceId(): string {
  return `${hostname()}-${randomUUID().slice(0, 4)}`;
}
