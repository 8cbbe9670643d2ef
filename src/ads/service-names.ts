// The names of the listeners and clusters that views have, by the service that they are of.
import type { Outbound } from '../policy/outbounds.ts';

export class ServiceNames {
  readonly #names = new Map<string, Set<string>>();

  /** How many services are remembered. */
  get size(): number {
    return this.#names.size;
  }

  /** KRIs of the services. */
  services(): Iterable<string> {
    return this.#names.keys();
  }

  note({ base, kri }: Pick<Outbound, 'base' | 'kri'>): void {
    const names = this.#names.get(base);
    if (names === undefined) this.#names.set(base, new Set([kri]));
    else names.add(kri);
  }

  of(services: Iterable<string>): string[] {
    return [...services].flatMap((service) => [...(this.#names.get(service) ?? [])]);
  }

  forget(service: string): void {
    this.#names.delete(service);
  }

  clear(): void {
    this.#names.clear();
  }
}
