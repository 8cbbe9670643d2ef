// The MeshService generator of a Universal zone (policies 9.4): computes the row of a service from its Dataplanes.
// Invariant: it changes only local rows that it created, and keeps labels of other writers.
import { label, manager } from '../../resource/labels.ts';
import type { Json, JsonObject, Labels, Resource } from '../../resource/types.ts';
import { byAge } from '../computed-row.ts';
import { isLocal } from '../../resource/ownership.ts';
import { selectorOf, type Membership } from './service-groups.ts';

type GeneratorInput = {
  readonly mesh: string;
  readonly zone: string;
  readonly service: string;
  readonly members: readonly Membership[];
  /** The MeshService of that name, from any origin. */
  readonly stored: Pick<Resource, 'labels' | 'spec' | 'syncVersion'> | undefined;
  readonly now: Date;
  /** The time for which a service without proxies stays, in milliseconds. The proxies may only be restarting. */
  readonly graceMs: number;
};

type Generated = {
  /** Null changes nothing. */
  readonly want: { readonly labels: Labels; readonly spec: JsonObject } | 'gone' | null;
  /** The time of the next check without a change, in milliseconds since 1970. */
  readonly wakeAt: number | null;
  /** The Dataplanes with ports that differ from those of the service. */
  readonly conflicting: readonly string[];
};

export const LEAVE: Generated = { want: null, wakeAt: null, conflicting: [] };

export function generateService(input: GeneratorInput): Generated {
  const { stored, members } = input;
  if (stored !== undefined && !(isLocal(stored, 'zone') && stored.labels[label.managedBy] === manager.services)) return LEAVE;
  if (members.length > 0) return fromMembers(input);
  return stored === undefined ? LEAVE : withoutMembers(stored, input);
}

function fromMembers({ mesh, zone, service, members, stored }: GeneratorInput): Generated {
  // A tag is more specific than a label of the whole proxy: if both name the service, tags decide.
  const by = members.some((member) => member.by === 'tag') ? 'tag' : 'workload';
  const sorted = members.filter((member) => member.by === by).sort(byAge);
  const present = stored?.spec['ports'];
  const isAgreed = sorted.some(({ ports }) => samePorts(ports, present));
  const ports = isAgreed && present !== undefined ? present : [...(sorted[0]?.ports ?? [])];
  const { [label.deletionGracePeriodStartedAt]: _, ...kept } = stored?.labels ?? {};
  return {
    want: {
      labels: {
        ...kept,
        [label.mesh]: mesh,
        [label.displayName]: service,
        [label.managedBy]: manager.services,
        [label.env]: 'universal',
        [label.zone]: zone,
        [label.origin]: 'zone',
      },
      spec: { ...stored?.spec, selector: selectorOf(by, service), ports },
    },
    wakeAt: null,
    conflicting: sorted.filter((member) => !samePorts(member.ports, ports)).map(({ name }) => name),
  };
}

/** Records when the last proxy was deleted (RFC 3339, never synced). After the grace period the service is deleted too. */
function withoutMembers(
  { labels, spec }: Pick<Resource, 'labels' | 'spec'>,
  { now, graceMs }: Pick<GeneratorInput, 'now' | 'graceMs'>,
): Generated {
  const began = Date.parse(labels[label.deletionGracePeriodStartedAt] ?? '');
  if (Number.isNaN(began)) {
    const started = { ...labels, [label.deletionGracePeriodStartedAt]: now.toISOString() };
    return { want: { labels: started, spec }, wakeAt: now.getTime() + graceMs, conflicting: [] };
  }
  const end = began + graceMs;
  return end <= now.getTime() ? { ...LEAVE, want: 'gone' } : { ...LEAVE, wakeAt: end };
}

/** Whether both lists have the same ports, in any order. */
function samePorts(ports: readonly JsonObject[], others: Json | undefined): boolean {
  if (!Array.isArray(others) || others.length !== ports.length) return false;
  const texts = new Set(others.map(portText));
  return ports.every((port) => texts.has(portText(port)));
}

function portText(port: Json): string {
  if (typeof port !== 'object' || port === null || Array.isArray(port)) return JSON.stringify(port);
  return JSON.stringify(['name', 'port', 'targetPort', 'appProtocol'].map((key) => port[key] ?? null));
}
