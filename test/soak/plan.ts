// What happens in a soak, and when. Invariant: the same seed and sizes give the same plan.
import { seededRandom } from '../../scripts/mutation/random.ts';

export type Action =
  /** A policy on global, through the replica of that number if it lives. */
  | { readonly kind: 'policy'; readonly replica: number; readonly index: number; readonly isRemoved: boolean }
  /** A service in a zone with a database. */
  | { readonly kind: 'service'; readonly zone: number; readonly index: number; readonly isRemoved: boolean }
  /** A fake zone writes its service, or removes it. */
  | { readonly kind: 'write'; readonly zone: number; readonly isRemoved: boolean }
  | { readonly kind: 'leave'; readonly zone: number; readonly seconds: number }
  | { readonly kind: 'refuse'; readonly zone: number; readonly seconds: number }
  | { readonly kind: 'read'; readonly replica: number; readonly page: number }
  | { readonly kind: 'follow'; readonly replica: number; readonly seconds: number }
  | { readonly kind: 'killReplica'; readonly replica: number; readonly seconds: number }
  | { readonly kind: 'killZone'; readonly zone: number; readonly seconds: number }
  | { readonly kind: 'restartPostgres'; readonly mode: 'fast' | 'immediate'; readonly seconds: number };

/** `at`: seconds after the first action may happen. */
export type Planned = Action & { readonly at: number };
export type Kind = Action['kind'];

export type PlanSizes = {
  readonly seed: number;
  /** The length of the plan. */
  readonly seconds: number;
  readonly zones: number;
  readonly realZones: number;
  readonly replicas: number;
  /** Policies on global; of services each zone with a database has fewer. */
  readonly resources: number;
};

/** How often in an hour; each of them at least once in any plan. `zones` is the number of fake zones. */
const AN_HOUR: Readonly<Record<Kind, (zones: number) => number>> = {
  policy: () => 7_200,
  service: () => 1_800,
  write: () => 1_800,
  leave: (zones) => 6 * zones,
  refuse: (zones) => zones,
  read: () => 1_800,
  follow: () => 60,
  killReplica: () => 15,
  killZone: () => 15,
  restartPostgres: () => 6,
};

/**
 * After this part of the plan the first replica and the first zone are not killed any more: their memory has one long series. Before
 * that every process may be killed.
 */
const LIVING_ON = 0.2;
const REMOVED = 0.25;
/** Of a zone. All are written within the first quarter of an hour, so that the number of rows does not grow later. */
const SERVICES = 50;
export const PAGES: readonly string[] = [
  '/zones/_summary',
  '/meshes/default/meshtimeouts?size=100',
  '/meshes/default/meshservices?size=100',
  '/zones/_overview?size=50',
];

/** All actions in the order of their times. */
export function planOf(sizes: PlanSizes): Planned[] {
  const random = seededRandom(sizes.seed);
  const planned = Object.entries(AN_HOUR).flatMap(([kind, anHour]) => {
    const count = Math.max(1, Math.round((anHour(sizes.zones) * sizes.seconds) / 3_600));
    // One in each part of the time, somewhere in that part.
    return Array.from({ length: count }, (_, part) => {
      const at = ((part + random()) / count) * sizes.seconds;
      return { at, ...draw(kind as Kind, at / sizes.seconds, sizes, random) };
    });
  });
  return planned.toSorted((one, other) => one.at - other.at);
}

function draw(kind: Kind, part: number, sizes: PlanSizes, random: () => number): Action {
  const below = (count: number): number => Math.floor(random() * count);
  const between = (least: number, most: number): number => least + random() * (most - least);
  /** One of those that may be killed at this time. */
  const killed = (count: number): number => (part < LIVING_ON || count === 1 ? below(count) : 1 + below(count - 1));
  const replica = below(sizes.replicas);
  const isRemoved = random() < REMOVED;
  switch (kind) {
    case 'policy':
      return { kind, replica, index: below(sizes.resources), isRemoved };
    case 'service':
      return { kind, zone: below(sizes.realZones), index: below(Math.min(SERVICES, sizes.resources)), isRemoved };
    case 'write':
      return { kind, zone: below(sizes.zones), isRemoved };
    case 'leave':
      return { kind, zone: below(sizes.zones), seconds: between(1, 20) };
    case 'refuse':
      return { kind, zone: below(sizes.zones), seconds: between(2, 15) };
    case 'read':
      return { kind, replica, page: below(PAGES.length) };
    case 'follow':
      return { kind, replica, seconds: between(1, 20) };
    case 'killReplica':
      return { kind, replica: killed(sizes.replicas), seconds: between(0.5, 5) };
    case 'killZone':
      return { kind, zone: killed(sizes.realZones), seconds: between(0.5, 5) };
    case 'restartPostgres':
      return { kind, mode: random() < 0.5 ? 'fast' : 'immediate', seconds: between(0, 4) };
  }
}
