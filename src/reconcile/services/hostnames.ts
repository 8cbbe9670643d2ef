// The hostnames of services (policies 9.5): the names from the HostnameGenerators of a zone, and the winner of a name that several
// services of one type and mesh claim. Invariant: the winner depends only on the claims, not on their order of arrival.
import { isObject, objectOf, textMapOf, textOf } from '../../resource/read-json.ts';
import { originOf } from '../../resource/ownership.ts';
import type { Labels, Resource, Json, JsonObject } from '../../resource/types.ts';
import { byAge, type Aged } from '../computed-row.ts';
import { renderHostname, type Rendered } from '../../resource/templates/hostname-template.ts';
import { compareText } from '../../base/compare-text.ts';

const KINDS = [
  ['meshService', 'MeshService'],
  ['meshExternalService', 'MeshExternalService'],
  ['meshMultiZoneService', 'MeshMultiZoneService'],
] as const;

type Generator = {
  readonly name: string;
  readonly created: number;
  readonly isOfZone: boolean;
  /** The type of the selected services. */
  readonly type: string;
  readonly matchLabels: Labels;
  readonly template: string;
};

/** A hostname that a generator gives a service. `rank` is the precedence of the generator, 0 first. */
export type Claim = { readonly generator: string; readonly rank: number; readonly result: Rendered };

/** The generators by precedence: origin `zone` first, then the oldest, then by name. */
export class HostnameGenerators {
  readonly #byName = new Map<string, Generator>();
  #ranked: readonly Generator[] = [];

  put(row: Resource): void {
    const generator = generatorOf(row);
    if (generator === null) this.#byName.delete(row.name);
    else this.#byName.set(row.name, generator);
    this.#rank();
  }

  remove(name: string): void {
    this.#byName.delete(name);
    this.#rank();
  }

  /** The hostnames of every generator that selects the service, by precedence. */
  claimsOf(service: Resource, zone: string): Claim[] {
    return this.#ranked.flatMap(({ name, type, matchLabels, template }, rank) => {
      if (type !== service.type) return [];
      if (!Object.entries(matchLabels).every(([key, value]) => service.labels[key] === value)) return [];
      return [{ generator: name, rank, result: renderHostname(template, service, zone) }];
    });
  }

  #rank(): void {
    this.#ranked = [...this.#byName.values()].sort((a, b) => Number(b.isOfZone) - Number(a.isOfZone) || byAge(a, b));
  }
}

/** Returns null without a selector, or without a template (an extension then makes the names). */
function generatorOf({ name, creationTime, labels, spec }: Resource): Generator | null {
  const selector = objectOf(spec['selector']);
  const [kind, type] = KINDS.find(([key]) => isObject(selector[key])) ?? [];
  const template = textOf(spec['template']);
  if (kind === undefined || type === undefined || template === '') return null;
  return {
    name,
    created: creationTime.getTime(),
    isOfZone: originOf(labels) === 'zone',
    type,
    matchLabels: textMapOf(objectOf(selector[kind])['matchLabels']),
    template,
  };
}

type Claimant = { readonly service: Aged; readonly claims: readonly Claim[] };
type Stake = Aged & { readonly id: string; readonly rank: number };

export type HostnameStatus = { readonly addresses: Json[]; readonly hostnameGenerators: Json[] };

/** Decides between claims: the generator with precedence wins, then the oldest service, then its name. */
export class HostnameClaims {
  readonly #claimants = new Map<string, Claimant>();
  readonly #stakes = new Map<string, Map<string, Stake>>();

  /** Replaces the claims of a service. @returns the services whose hostnames may change, itself included */
  put(id: string, service: Aged, claims: readonly Claim[]): Set<string> {
    const touched = this.remove(id);
    this.#claimants.set(id, { service, claims });
    for (const { rank, result } of claims) {
      if (!('hostname' in result)) continue;
      const stakes = this.#stakes.get(result.hostname) ?? new Map<string, Stake>();
      this.#stakes.set(result.hostname, stakes);
      if (!stakes.has(id)) stakes.set(id, { id, ...service, rank });
      for (const other of stakes.keys()) touched.add(other);
    }
    return touched;
  }

  /** Removes the claims of a service. @returns the services whose hostnames may change, itself included */
  remove(id: string): Set<string> {
    const touched = new Set([id]);
    for (const { result } of this.#claimants.get(id)?.claims ?? []) {
      const stakes = 'hostname' in result ? this.#stakes.get(result.hostname) : undefined;
      if (stakes === undefined || !('hostname' in result)) continue;
      for (const other of stakes.keys()) touched.add(other);
      stakes.delete(id);
      if (stakes.size === 0) this.#stakes.delete(result.hostname);
    }
    this.#claimants.delete(id);
    return touched;
  }

  /** `status.addresses` and `status.hostnameGenerators`, both by name of the generator; a generator that gives nothing has no entry. */
  statusOf(id: string): HostnameStatus {
    const claims = [...(this.#claimants.get(id)?.claims ?? [])].sort((a, b) => compareText(a.generator, b.generator));
    const addresses: Json[] = [];
    const hostnameGenerators: Json[] = [];
    for (const { generator, result } of claims) {
      const hostnameGeneratorRef = { coreName: generator };
      const condition = this.#conditionOf(id, result);
      hostnameGenerators.push({ hostnameGeneratorRef, conditions: [condition] });
      if ('hostname' in result && condition['status'] === 'True')
        addresses.push({ hostname: result.hostname, origin: 'HostnameGenerator', hostnameGeneratorRef });
    }
    return { addresses, hostnameGenerators };
  }

  #conditionOf(id: string, result: Claim['result']): JsonObject {
    if ('error' in result) return { type: 'Generated', status: 'False', reason: 'TemplateError', message: result.error };
    const [winner] = [...(this.#stakes.get(result.hostname)?.values() ?? [])].sort((a, b) => a.rank - b.rank || byAge(a, b));
    if (winner === undefined || winner.id === id) return { type: 'Generated', status: 'True', reason: 'Generated', message: '' };
    const message = `hostname ${result.hostname} belongs to ${winner.name}`;
    return { type: 'Generated', status: 'False', reason: 'Collision', message };
  }
}
