// MeshProxyPatch: changes of the resources of a proxy, in their order (xds 3.3). A change that cannot be applied to a resource is left
// out and reported; the resource keeps its other changes.
import { LRUCache } from 'lru-cache';
import type { ProxyRules } from '../policy/build-rules.ts';
import { modificationsIn, type JsonPatch, type ProxyModification } from '../policies/mesh-proxy-patch/spec.ts';
import { isObject, objectOf, objectsOf, textOf } from '../resource/read-json.ts';
import { readEnvoyValue } from '../schema/envoy-value.ts';
import type { Json, JsonObject } from '../resource/types.ts';
import { canonicalEnvoyJson, mergeEnvoyJson } from '../wire/merge-envoy.ts';
import { ProtoJsonError } from '../wire/proto-error.ts';
import { fieldOf, type ConfigProblem } from './config-problem.ts';
import { applyJsonPatch, JsonPatchError } from './json-patch.ts';
import { CLIENT_KEY } from './names.ts';
import type { ProxyConfig } from './proxy-context.ts';
import { reportTo } from './usable-policies.ts';

const MESSAGES = {
  cluster: 'envoy.config.cluster.v3.Cluster',
  listener: 'envoy.config.listener.v3.Listener',
  networkFilter: 'envoy.config.listener.v3.Filter',
  httpFilter: 'envoy.extensions.filters.network.http_connection_manager.v3.HttpFilter',
  virtualHost: 'envoy.config.route.v3.VirtualHost',
} as const;
type Target = keyof typeof MESSAGES;

/** Filters that end a chain: nothing can stand behind them. */
const ENDS_CHAIN = /\.(HttpConnectionManager|TcpProxy|Router)$/;
const CONNECTION_MANAGER = /\.HttpConnectionManager$/;
/** A JSON pointer that begins with one of these is about the filter; any other is about its configuration. */
const FIELDS_OF_FILTER =
  /^\/(name|typedConfig|typed_config|configDiscovery|config_discovery|isOptional|is_optional|disabled)(\/|$)/;

/** One item of `appendModifications`. */
export type Modification = {
  readonly policy: string;
  readonly field: string;
  readonly target: Target;
  readonly change: Change;
};

type ChangeOf<T extends Target> = NonNullable<ProxyModification[T]>;
type MatchOf<T extends Target> = NonNullable<ChangeOf<T>['match']>;
/** What resources a change is about, with the fields of each kind of them. */
type Match = Partial<MatchOf<'cluster'> & MatchOf<'listener'> & MatchOf<'httpFilter'> & MatchOf<'virtualHost'>>;
type Change = Omit<ChangeOf<Target>, 'match'> & { readonly match?: Match | undefined };

type Modifications = { readonly modifications: readonly Modification[]; readonly problems: readonly ConfigProblem[] };

/** The modifications in force, in the order in which they are applied, and what is no modification. */
function modificationsOf({ types }: ProxyRules): Modifications {
  const contributions = types.find(({ type }) => type === 'MeshProxyPatch')?.proxyRule?.contributions ?? [];
  const modifications: Modification[] = [];
  const problems: ConfigProblem[] = [];
  for (const { policy, index, conf } of contributions) {
    const { found, refused } = modificationsIn(conf);
    for (const { field, reason } of refused)
      problems.push({ policy: policy.kri, field: fieldOf('default', index, field), reason });
    for (const { at, modification } of found)
      for (const target of Object.keys(MESSAGES) as Target[]) {
        const change = modification[target];
        const field = fieldOf('default', index, `appendModifications[${String(at)}].${target}`);
        if (change !== undefined) modifications.push({ policy: policy.kri, field, target, change });
      }
  }
  return { modifications, problems };
}

/**
 * Adds a part to a configuration, with the modifications in force.
 * @param takesNew as in `applyModifications`
 */
export function addPatched<T>(config: ProxyConfig, rules: ProxyRules, takesNew: boolean, add: (part: ProxyConfig) => T): T {
  const { modifications, problems } = modificationsOf(rules);
  // Each part of a configuration has the same ones.
  const report = reportTo(config.problems);
  for (const problem of problems) report(problem);
  if (modifications.length === 0) return add(config);
  const part: ProxyConfig = {
    clusters: new Map(),
    assignments: new Map(),
    listeners: new Map(),
    routes: new Map(),
    filters: config.filters,
    secrets: config.secrets,
    keys: config.keys,
    problems: config.problems,
  };
  const result = add(part);
  applyModifications(part, modifications, { takesNew });
  for (const kind of ['clusters', 'assignments', 'listeners', 'routes'] as const)
    for (const [name, resource] of part[kind]) config[kind].set(name, resource);
  return result;
}

/**
 * Changes the resources of a configuration, or of a part of one.
 * @param takesNew whether added clusters and listeners become part of it
 */
function applyModifications(
  config: ProxyConfig,
  modifications: readonly Modification[],
  { takesNew }: { readonly takesNew: boolean },
): void {
  // Each part of a configuration is changed for itself, and may have the same problem.
  const report = reportTo(config.problems);
  for (const modification of modifications) {
    const { policy, field } = modification;
    new Patcher(config, modification, takesNew, (reason) => report({ policy, field, reason })).run();
  }
}

/** Applies one modification. */
class Patcher {
  readonly #config: ProxyConfig;
  readonly #target: Target;
  readonly #change: Change;
  readonly #match: Match;
  readonly #takesNew: boolean;
  readonly #report: (reason: string) => void;

  constructor(config: ProxyConfig, { target, change }: Modification, takesNew: boolean, report: (reason: string) => void) {
    this.#config = config;
    this.#target = target;
    this.#change = change;
    this.#match = change.match ?? {};
    this.#takesNew = takesNew;
    this.#report = report;
  }

  run(): void {
    const { clusters, assignments, listeners, routes } = this.#config;
    switch (this.#target) {
      case 'cluster':
        this.#resources(clusters, (name) => assignments.delete(name));
        break;
      case 'listener':
        this.#resources(listeners, (name) => routes.delete(name));
        break;
      case 'networkFilter':
        this.#everyChain((filters) => this.#edited(filters));
        break;
      case 'httpFilter':
        this.#everyChain((filters) => filters.map((filter) => this.#withHttpFilters(filter)));
        break;
      case 'virtualHost':
        for (const [name, route] of routes) {
          const hosts = this.#editedHosts(name, objectsOf(route['virtualHosts']));
          if (hosts !== null) routes.set(name, { ...route, virtualHosts: hosts });
        }
    }
  }

  #resources(resources: Map<string, JsonObject>, removed: (name: string) => void): void {
    const { operation } = this.#change;
    if (operation === 'Add') {
      const added = this.#added();
      const name = textOf(added?.['name']);
      if (added !== null && name === '') this.#report('has a value without a name');
      else if (added !== null && (this.#takesNew || resources.has(name))) resources.set(name, added);
      return;
    }
    for (const [key, resource] of resources) {
      // Two listeners of an outbound have one name.
      const name = textOf(resource['name']);
      if (!this.#matchesResource(name, resource)) continue;
      if (operation === 'Remove') {
        resources.delete(key);
        removed(name);
      } else if (operation === 'Patch') resources.set(key, this.#patched(name, resource));
    }
  }

  #matchesResource(name: string, resource: JsonObject): boolean {
    return isMatched(this.#match.name, name) && isMatched(this.#match.origin, originOf(name)) && this.#hasTags(resource, 'tags');
  }

  #hasTags(listener: JsonObject, key: 'tags' | 'listenerTags'): boolean {
    const own = objectOf(objectOf(objectOf(listener['metadata'])['filterMetadata'])['io.kuma.tags']);
    return Object.entries(this.#match[key] ?? {}).every(([tag, value]) => own[tag] === value);
  }

  #everyChain(edit: (filters: readonly JsonObject[]) => JsonObject[]): void {
    const { listeners } = this.#config;
    const { listenerName, origin } = this.#match;
    for (const [key, listener] of listeners) {
      const name = textOf(listener['name']);
      const isMeant =
        isMatched(listenerName, name) && isMatched(origin, originOf(name)) && this.#hasTags(listener, 'listenerTags');
      if (!isMeant) continue;
      const filterChains = objectsOf(listener['filterChains']).map((chain) => ({
        ...chain,
        filters: edit(objectsOf(chain['filters'])),
      }));
      listeners.set(key, { ...listener, filterChains });
    }
  }

  #withHttpFilters(filter: JsonObject): JsonObject {
    const config = objectOf(filter['typedConfig']);
    if (!CONNECTION_MANAGER.test(textOf(config['@type']))) return filter;
    return { ...filter, typedConfig: { ...config, httpFilters: this.#edited(objectsOf(config['httpFilters'])) } };
  }

  #edited(filters: readonly JsonObject[]): JsonObject[] {
    const { name = '' } = this.#match;
    const { operation } = this.#change;
    if (operation === 'Remove') return filters.filter((filter) => !isMatched(name, textOf(filter['name'])));
    if (operation === 'Patch')
      return filters.map((filter) =>
        isMatched(name, textOf(filter['name'])) ? this.#patched(textOf(filter['name']), filter) : filter,
      );
    const at = placeFor(operation, filters, name);
    const added = at === null ? null : this.#added();
    return at === null || added === null ? [...filters] : filters.toSpliced(at, 0, added);
  }

  /** Null where nothing changes. */
  #editedHosts(routeName: string, hosts: readonly JsonObject[]): JsonObject[] | null {
    const { name, origin, routeConfigurationName } = this.#match;
    if (!isMatched(routeConfigurationName, routeName) || !isMatched(origin, originOf(routeName))) return null;
    const isMeant = (host: JsonObject): boolean => isMatched(name, textOf(host['name']));
    switch (this.#change.operation) {
      case 'Remove':
        return hosts.filter((host) => !isMeant(host));
      case 'Patch':
        return hosts.map((host) => (isMeant(host) ? this.#patched(textOf(host['name']), host) : host));
      case 'Add': {
        const added = this.#added();
        const taken = added === null ? undefined : clash(hosts, added);
        if (taken !== undefined) this.#report(`has ${taken}, which ${routeName} has already`);
        return added === null || taken !== undefined ? null : [...hosts, added];
      }
      default:
        return null;
    }
  }

  #patched(name: string, resource: JsonObject): JsonObject {
    const result = this.#attempt(() => {
      const changed = this.#changed(resource);
      requireOwnKeys(changed, resource);
      return changed;
    }, name);
    // Other resources know it by its name.
    return result === null || this.#isRenamed(name, result) ? resource : result;
  }

  #changed(resource: JsonObject): JsonObject {
    const message = MESSAGES[this.#target];
    const { jsonPatches = [], value } = this.#change;
    if (value !== undefined) return canonicalEnvoyJson(message, mergeEnvoyJson(message, resource, this.#value()));
    const isFilter = this.#target === 'networkFilter' || this.#target === 'httpFilter';
    const operations = jsonPatches.map((operation) => (isFilter ? insideFilter(operation) : operation));
    return canonicalEnvoyJson(message, objectOf(applyJsonPatch(resource, operations)));
  }

  #isRenamed(name: string, result: JsonObject): boolean {
    const isRenamed = result['name'] !== name && (this.#target === 'cluster' || this.#target === 'listener');
    if (isRenamed) this.#report(`renames ${name}: a resource keeps its name`);
    return isRenamed;
  }

  /** The value in canonical form. */
  #value(): JsonObject {
    return canonicalEnvoyJson(MESSAGES[this.#target], values.memo(this.#change.value ?? ''));
  }

  /** The value as a resource of its own. Null, and a report, where it cannot be one. */
  #added(): JsonObject | null {
    return this.#attempt(() => {
      const value = this.#value();
      requireOwnKeys(value, null);
      return value;
    });
  }

  /** Null, and a report, where it cannot be done. */
  #attempt(make: () => JsonObject, name?: string): JsonObject | null {
    try {
      return make();
    } catch (error) {
      if (!(error instanceof JsonPatchError || error instanceof ProtoJsonError)) throw error;
      this.#report(name === undefined ? error.message : `cannot change ${name}: ${error.message}`);
      return null;
    }
  }
}

/** Values by their texts: each part of each proxy asks for the same few. */
const values = new LRUCache<string, JsonObject>({ max: 1_000, memoMethod: readValue });

/** @throws JsonPatchError for a text that is no object */
function readValue(text: string): JsonObject {
  const read = readEnvoyValue(text);
  if (isObject(read)) return read;
  throw new JsonPatchError(read === undefined ? 'has a value that is too long' : 'has a value that is no object');
}

/**
 * A cluster alone shows the key of its external service: no patch gives it to another resource.
 * @param before the resource without the patch
 * @throws JsonPatchError
 */
function requireOwnKeys(after: Json, before: Json): void {
  const own = new Set(clientKeysIn(before));
  const taken = clientKeysIn(after).find((name) => !own.has(name));
  if (taken !== undefined) throw new JsonPatchError(`names the secret ${taken}, which belongs to one cluster`);
}

/** The names of secrets with keys for external services that a value mentions. */
function clientKeysIn(value: Json): string[] {
  if (typeof value === 'string') return value.startsWith(CLIENT_KEY) ? [value] : [];
  if (Array.isArray(value)) return value.flatMap(clientKeysIn);
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([key, inner]) => [...clientKeysIn(key), ...clientKeysIn(inner)]);
}

/** Where a filter is added; null where the filter that it stands beside is missing. */
function placeFor(operation: Change['operation'], filters: readonly JsonObject[], name: string): number | null {
  const at = filters.findIndex((filter) => filter['name'] === name);
  switch (operation) {
    case 'AddFirst':
      return 0;
    case 'AddBefore':
      return at === -1 ? null : at;
    case 'AddAfter':
      return at === -1 ? null : at + 1;
    case 'AddLast': {
      const last = textOf(objectOf(filters.at(-1)?.['typedConfig'])['@type']);
      return ENDS_CHAIN.test(last) ? filters.length - 1 : filters.length;
    }
    default:
      return null;
  }
}

function insideFilter(operation: JsonPatch): JsonPatch {
  const inside = (pointer: string): string => (FIELDS_OF_FILTER.test(pointer) ? pointer : `/typedConfig${pointer}`);
  const { path, from } = operation;
  return { ...operation, path: inside(path), ...(from !== undefined && { from: inside(from) }) };
}

/** The name or domain of a virtual host that another one has; undefined without one. */
function clash(hosts: readonly JsonObject[], added: JsonObject): string | undefined {
  const domains = new Set(hosts.flatMap((host) => (Array.isArray(host['domains']) ? host['domains'].map(textOf) : [])));
  const wanted = Array.isArray(added['domains']) ? added['domains'].map(textOf) : [];
  const taken = wanted.find((domain) => domains.has(domain));
  if (taken !== undefined) return `domain ${taken}`;
  return hosts.some(({ name }) => name === added['name']) ? `name ${textOf(added['name'])}` : undefined;
}

/** An absent match is any. */
function isMatched(wanted: string | undefined, actual: string): boolean {
  return wanted === undefined || wanted === '' || wanted === actual;
}

/** The origin of a resource, by its name. */
function originOf(name: string): string {
  if (name.startsWith('self_inbound_dp_')) return 'inbound';
  if (name.startsWith('system_meshtrace_')) return 'mesh-trace';
  if (name.startsWith('system_meshmetric_')) return 'prometheus';
  if (name.startsWith('system_meshaccesslog_')) return 'mesh-access-log';
  return name.startsWith('kri_') ? 'outbound' : '';
}
