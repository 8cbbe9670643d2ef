// Who gets a hostname that several services of one type and mesh are given (policies 9.5). Invariant: the winner depends on the
// claims alone, never on their order of arrival: precedence of the generator, then age of the service, then its name.
import type { Json, JsonObject } from '../../resource/types.ts';
import { compareText } from '../../base/compare-text.ts';
import { byAge, type Aged } from './by-age.ts';
import type { Claim } from './hostname-generators.ts';

type Claimant = { readonly service: Aged; readonly claims: readonly Claim[] };
type Stake = Aged & { readonly id: string; readonly rank: number };

export type HostnameStatus = { readonly addresses: Json[]; readonly hostnameGenerators: Json[] };

export class HostnameClaims {
  readonly #claimants = new Map<string, Claimant>();
  readonly #stakes = new Map<string, Map<string, Stake>>();

  /** Replaces the claims of a service. @returns the services for which that may change something, itself included */
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

  /** @returns the services for which that may change something, itself included */
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
