// The HostnameGenerators of a zone in their order of precedence (policies 9.5): origin `zone` first, then the oldest, then by name.
import { isObject, objectOf, textMapOf, textOf } from '../../resource/read-json.ts';
import { label } from '../../resource/labels.ts';
import type { Labels, Resource } from '../../resource/types.ts';
import { byAge } from './by-age.ts';
import { renderHostname, type Rendered } from '../../resource/hostname-template.ts';

const KINDS = [
  ['meshService', 'MeshService'],
  ['meshExternalService', 'MeshExternalService'],
  ['meshMultiZoneService', 'MeshMultiZoneService'],
] as const;

type Generator = {
  readonly name: string;
  readonly created: number;
  readonly isOfZone: boolean;
  /** Type of the services that it selects. */
  readonly type: string;
  readonly matchLabels: Labels;
  readonly template: string;
};

/** A hostname that a generator gives a service. `rank`: precedence of the generator, 0 first. */
export type Claim = { readonly generator: string; readonly rank: number; readonly result: Rendered };

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

  /** What every generator that selects the service gives it, by precedence. */
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

/** Null without a template (an extension makes the names elsewhere) or a selector. */
function generatorOf({ name, creationTime, labels, spec }: Resource): Generator | null {
  const selector = objectOf(spec['selector']);
  const [kind, type] = KINDS.find(([key]) => isObject(selector[key])) ?? [];
  const template = textOf(spec['template']);
  if (kind === undefined || type === undefined || template === '') return null;
  return {
    name,
    created: creationTime.getTime(),
    isOfZone: labels[label.origin] === 'zone',
    type,
    matchLabels: textMapOf(objectOf(selector[kind])['matchLabels']),
    template,
  };
}
