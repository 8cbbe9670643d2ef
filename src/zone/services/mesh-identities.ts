// The SPIFFE IDs that MeshIdentities give the proxies of a mesh (policies 9.3, spec.identities). A MeshIdentity that nobody has
// initialised gives none. Invariant: what it gives depends on the rows alone, not on the order in which they came.
import { isDeepStrictEqual } from 'node:util';
import { isObject, objectOf, objectsOf, textMapOf, textOf } from '../../resource/read-json.ts';
import { renderTemplate } from '../../resource/go-template.ts';
import { label } from '../../resource/labels.ts';
import type { Labels, Resource } from '../../resource/types.ts';
import type { DataplaneFacts } from './dataplane-facts.ts';

const DEFAULT_TRUST_DOMAIN = '{{ .Mesh }}.{{ .Zone }}.mesh.local';
const DEFAULT_PATH = '/workload/{{ .Workload }}';
const SERVICE_ACCOUNT = 'k8s.kuma.io/service-account';
/** With one of these conditions True it is initialised, for some proxies at least. */
const INITIALISED = new Set(['Ready', 'PartiallyReady']);

/** `matchLabels` of the Dataplanes; null selects nothing. */
type Identity = { readonly matchLabels: Labels | null; readonly trustDomain: string; readonly path: string };

export class MeshIdentities {
  readonly #mesh: string;
  readonly #zone: string;
  readonly #byName = new Map<string, Identity>();

  constructor(mesh: string, zone: string) {
    this.#mesh = mesh;
    this.#zone = zone;
  }

  /** @returns whether that changes what proxies are called */
  put(row: Resource): boolean {
    const identity = identityOf(row);
    if (isDeepStrictEqual(identity, this.#byName.get(row.name))) return false;
    this.#byName.set(row.name, identity);
    return true;
  }

  /** @returns whether it was there */
  remove(name: string): boolean {
    return this.#byName.delete(name);
  }

  names(): Iterable<string> {
    return this.#byName.keys();
  }

  /** The SPIFFE IDs of a proxy; one whose template asks for what the proxy does not carry is left out. */
  idsOf({ labels }: DataplaneFacts): string[] {
    const fields = {
      Mesh: this.#mesh,
      Zone: labels[label.zone] ?? this.#zone,
      Namespace: labels[label.namespace] ?? '',
      ServiceAccount: labels[SERVICE_ACCOUNT] ?? '',
      ...(labels[label.workload] !== undefined && { Workload: labels[label.workload] }),
    };
    return [...this.#byName.values()].flatMap(({ matchLabels, trustDomain, path }) => {
      if (matchLabels === null || !Object.entries(matchLabels).every(([key, value]) => labels[key] === value)) return [];
      const rendered = renderTemplate(`spiffe://${trustDomain}${path}`, { fields, labels });
      return 'text' in rendered ? [rendered.text] : [];
    });
  }
}

function identityOf({ spec, status }: Resource): Identity {
  const dataplane = objectOf(objectOf(spec['selector'])['dataplane']);
  const { trustDomain, path } = objectOf(spec['spiffeID']);
  const isInitialised = objectsOf(status['conditions']).some(
    ({ type, status: state }) => INITIALISED.has(textOf(type)) && state === 'True',
  );
  return {
    matchLabels: isInitialised && isObject(dataplane['matchLabels']) ? textMapOf(dataplane['matchLabels']) : null,
    trustDomain: textOf(trustDomain) || DEFAULT_TRUST_DOMAIN,
    path: textOf(path) || DEFAULT_PATH,
  };
}
