// A recorded case is a folder. `input/*.yaml` was applied to a zone `east` of its own, and `expected/<proxy>.json` is what its proxies
// get. Of a case with several zones `input/<control plane>/*.yaml` was applied to the global or to a zone, and
// `expected/<zone>/<proxy>.json` is what the proxies of that zone get. README.md says in what the expected files differ from what was
// recorded.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { initialPolicies } from '../../src/defaults/default-resources.ts';
import { MeshIndex } from '../../src/policy/mesh-index.ts';
import { proxyIdentity } from '../../src/policy/proxy-identity.ts';
import { selectedDataplanes } from '../../src/policy/services.ts';
import { hashNameOf } from '../../src/resource/hash-name.ts';
import { homeZoneOf, isInAllZones } from '../../src/resource/ownership.ts';
import { serviceSni } from '../../src/resource/sni.ts';
import { computeLabels, type ControlPlaneIdentity } from '../../src/resource/compute-labels.ts';
import { objectOf, objectsOf, textMapOf, textOf } from '../../src/resource/read-json.ts';
import { typeOf } from '../../src/resource/type-registry.ts';
import type { JsonObject, Resource } from '../../src/resource/types.ts';
import type { ProxyConfig } from '../../src/xds/proxy-context.ts';
import { proxyConfig } from '../../src/xds/proxy-config.ts';
import { WITHOUT_FEATURES } from '../../src/xds/proxy-features.ts';
import { makeRow } from '../support/make-row.ts';

const folder = join(import.meta.dirname, 'recorded');
const ALONE: ControlPlaneIdentity = { mode: 'zone', zone: 'east', federated: false };
const AUTHORITY = readFileSync(join(import.meta.dirname, 'authority.pem'), 'utf8');
const META = new Set(['type', 'mesh', 'name', 'labels', 'status', 'creationTime', 'modificationTime']);

export type RecordedProxy = { readonly file: string; readonly name: string; readonly index: MeshIndex };
export type RecordedCase = { readonly name: string; readonly proxies: readonly RecordedProxy[] };

export function caseNames(): string[] {
  return foldersIn(folder);
}

export function readCase(name: string): RecordedCase {
  const input = join(folder, name, 'input');
  const planes = foldersIn(input);
  const isAlone = planes.length === 0;
  const indexes = isAlone
    ? withIdentities(new Map([['east', new MeshIndex('shop', rowsIn(input, ALONE))]]))
    : withIdentities(severalZones(input, planes));
  const proxies = [...indexes].flatMap(([zone, index]) => {
    const place = isAlone ? '' : `${zone}/`;
    const expected = join(folder, name, 'expected', place);
    const files = existsSync(expected) ? readdirSync(expected).map((file) => file.slice(0, -'.json'.length)) : [];
    return files.map((file) => ({ file: `${place}${file}`, name: file, index }));
  });
  return { name, proxies };
}

/** The index of a zone `east` of its own to which the files of a folder were applied. */
export function indexOfFolder(input: string): MeshIndex {
  const [index] = withIdentities(new Map([['east', new MeshIndex('shop', rowsIn(input, ALONE))]])).values();
  if (index === undefined) throw new Error('the zone has no index');
  return index;
}

/** The indexes of zones that are in step by a global. */
function severalZones(input: string, planes: readonly string[]): Map<string, MeshIndex> {
  const ofGlobal = rowsIn(join(input, 'global'), { mode: 'global', zone: null, federated: false });
  const zones = planes.filter((plane) => plane !== 'global');
  const own = zones.map((zone) => rowsIn(join(input, zone), { mode: 'zone', zone, federated: true }));
  return new Map(
    zones.map((zone, at) => {
      const others = own.flatMap((rows, of) => (of === at ? [] : rows.filter((row) => isInAllZones(row, typeOf(row.type)))));
      const synced = others.map((row) => ({ ...row, name: hashNameOf(row) }));
      return [zone, new MeshIndex('shop', [...ofGlobal, ...(own[at] ?? []), ...synced])];
    }),
  );
}

/** Adds what zones compute of a MeshIdentity, as it is when all proxies have their certificates; and their egress. */
function withIdentities(indexes: Map<string, MeshIndex>): Map<string, MeshIndex> {
  const zones = [...indexes.keys()];
  const published = new Map<string, JsonObject>();
  for (const [zone, index] of indexes) {
    for (const identity of [...index.resources('MeshIdentity')]) {
      index.put({ ...identity, status: { conditions: [{ type: 'Ready', status: 'True' }] } });
      for (const other of zones) index.put(trustOf(identity, other));
      for (const service of [...index.resources('MeshService')]) {
        if (homeZoneOf(service, zone) !== zone) continue;
        const ids = selectedDataplanes(index, service).flatMap((proxy) => proxyIdentity(index, proxy)?.spiffeId ?? []);
        const identities = [...new Set(ids)].map((value) => ({ type: 'SpiffeID', value }));
        published.set(index.kriOf(service), { identities });
        index.put({ ...service, status: { tls: { status: 'Ready', enforced: true } } });
      }
    }
    const [egress] = [...index.proxies()].flatMap(({ resource, sections }) =>
      sections.flatMap(({ kind, port }) => (kind === 'ZoneEgress' ? [{ address: addressOf(resource), port }] : [])),
    );
    if (egress === undefined) continue;
    for (const external of [...index.resources('MeshExternalService')]) {
      const port = objectOf(external.spec['match'])['port'];
      const sni = serviceSni(external, typeof port === 'number' ? port : 0);
      index.put({ ...external, status: { zoneEgress: { ...egress, sni } } });
    }
  }
  for (const index of indexes.values())
    for (const service of [...index.resources('MeshService')])
      index.put({ ...service, spec: { ...service.spec, ...published.get(index.kriOf(service)) } });
  return indexes;
}

function trustOf(identity: Resource, zone: string): Resource {
  const caBundles = [{ type: 'Pem', pem: { value: AUTHORITY } }];
  return { ...identity, type: 'MeshTrust', name: zone, spec: { trustDomain: `shop.${zone}.mesh.local`, caBundles } };
}

function addressOf({ spec }: Resource): string {
  return textOf(objectOf(spec['networking'])['address']);
}

/** A proxy beside a program that forwards its access logs, as the recorded ones were. */
export function configOf({ index, name }: RecordedProxy): ProxyConfig {
  const proxy = index.proxy(name);
  if (proxy === undefined) throw new Error(`the case has no Dataplane ${name}`);
  const workdir = `/run/kuma-dp/${name}`;
  return proxyConfig(index, proxy, {
    ...WITHOUT_FEATURES,
    reusePort: true,
    companion: workdir,
    systemCa: '/etc/ssl/certs/ca-certificates.crt',
    tcpLogPipe: `${workdir}/kuma-al-${name}-shop.sock`,
  });
}

/** The resources of a proxy as plain JSON, by kind and name. */
export function plain({ clusters, assignments, listeners, routes }: ProxyConfig): unknown {
  const kinds = { clusters, assignments, listeners, routes };
  return JSON.parse(
    JSON.stringify(kinds, (_key, value: unknown): unknown => (value instanceof Map ? Object.fromEntries(value) : value)),
  );
}

export function expected({ name }: RecordedCase, { file }: RecordedProxy): unknown {
  return JSON.parse(readFileSync(join(folder, name, 'expected', `${file}.json`), 'utf8'));
}

function specOf(document: JsonObject): JsonObject {
  if (typeOf(textOf(document['type'])).codec.kind === 'json') return objectOf(document['spec']);
  return Object.fromEntries(Object.entries(document).filter(([key]) => !META.has(key)));
}

function foldersIn(path: string): string[] {
  return readdirSync(path, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? [entry.name] : []));
}

/** The rows that a control plane has after the files of a folder were applied to it. */
function rowsIn(path: string, writer: ControlPlaneIdentity): Resource[] {
  const documents = readdirSync(path)
    .sort()
    .flatMap((file) => parseAllDocuments(readFileSync(join(path, file), 'utf8')).map((document) => objectOf(document.toJS())));
  return documents.flatMap((document, at) => [
    rowOf(document, at, writer),
    ...(document['type'] === 'Mesh'
      ? initialPolicies(textOf(document['name']), specOf(document)).map((policy) => policyRow(asInKuma(policy), writer))
      : []),
  ]);
}

/** Rows are as old as they stand in the files. */
function rowOf(document: JsonObject, age: number, writer: ControlPlaneIdentity): Resource {
  const [type, name] = [textOf(document['type']), textOf(document['name'])];
  const info = typeOf(type);
  const mesh = info.scope === 'Mesh' ? textOf(document['mesh']) : '';
  const spec = specOf(document);
  const labels = computeLabels(info, { displayName: name, mesh, labels: textMapOf(document['labels']), spec }, writer);
  const status = objectOf(document['status']);
  return makeRow(type, name, { mesh, labels, spec, status, creationTime: new Date(age * 1000) });
}

type InitialPolicy = ReturnType<typeof initialPolicies>[number];

/** Kuma has other values in two initial policies (decision 67). */
function asInKuma(policy: InitialPolicy): InitialPolicy {
  const [to] = objectsOf(policy.spec['to']);
  const conf = objectOf(to?.['default']);
  const { hostSelection: _selection, hostSelectionMaxAttempts: _attempts, ...http } = objectOf(conf['http']);
  const changed: Partial<Record<string, JsonObject>> = {
    MeshCircuitBreaker: { connectionLimits: { ...objectOf(conf['connectionLimits']), maxRetries: 3 } },
    MeshRetry: { ...conf, http },
  };
  const own = changed[policy.type];
  return own === undefined ? policy : { ...policy, spec: { ...policy.spec, to: [{ ...to, default: own }] } };
}

function policyRow({ type, name, spec }: InitialPolicy, writer: ControlPlaneIdentity): Resource {
  const labels = computeLabels(typeOf(type), { displayName: name, mesh: 'shop', labels: {}, spec }, writer);
  return makeRow(type, name, { mesh: 'shop', labels, spec });
}
