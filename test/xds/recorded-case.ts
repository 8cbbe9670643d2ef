// A recorded case is a folder: `input/*.yaml` was applied to a zone `east` of its own, `expected/<proxy>.json` is what its proxies
// get. README.md says in what the expected files differ from what was recorded.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { initialPolicies } from '../../src/defaults/default-resources.ts';
import { MeshIndex } from '../../src/policy/mesh-index.ts';
import { proxyIdentity } from '../../src/policy/proxy-identity.ts';
import { selectedDataplanes } from '../../src/policy/services.ts';
import { computeLabels, type ControlPlaneIdentity } from '../../src/resource/compute-labels.ts';
import { objectOf, textMapOf, textOf } from '../../src/resource/read-json.ts';
import { typeOf } from '../../src/resource/type-registry.ts';
import type { JsonObject, Resource } from '../../src/resource/types.ts';
import { proxyConfig, type ProxyConfig } from '../../src/xds/proxy-config.ts';
import { WITHOUT_FEATURES } from '../../src/xds/proxy-features.ts';
import { makeRow } from '../support/make-row.ts';

const folder = join(import.meta.dirname, 'recorded');
const ZONE: ControlPlaneIdentity = { mode: 'zone', zone: 'east', federated: false };
const AUTHORITY = readFileSync(join(import.meta.dirname, 'authority.pem'), 'utf8');
const META = new Set(['type', 'mesh', 'name', 'labels', 'creationTime', 'modificationTime']);

export type RecordedCase = { readonly name: string; readonly proxies: readonly string[]; readonly index: MeshIndex };

export function caseNames(): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? [entry.name] : []));
}

export function readCase(name: string): RecordedCase {
  const files = readdirSync(join(folder, name, 'input')).sort();
  const documents = files.flatMap((file) =>
    parseAllDocuments(readFileSync(join(folder, name, 'input', file), 'utf8')).map((document) => objectOf(document.toJS())),
  );
  const rows = documents.flatMap((document, at) => [
    rowOf(document, at),
    ...(document['type'] === 'Mesh' ? initialPolicies(textOf(document['name']), specOf(document)).map(policyRow) : []),
  ]);
  const proxies = readdirSync(join(folder, name, 'expected')).map((file) => file.slice(0, -'.json'.length));
  return { name, proxies, index: withIdentities(new MeshIndex('shop', rows)) };
}

/** Adds what a zone computes of a MeshIdentity, as it is when all proxies have their certificates. */
function withIdentities(index: MeshIndex): MeshIndex {
  for (const identity of [...index.resources('MeshIdentity')]) {
    index.put({ ...identity, status: { conditions: [{ type: 'Ready', status: 'True' }] } });
    const spec = { trustDomain: 'shop.east.mesh.local', caBundles: [{ type: 'Pem', pem: { value: AUTHORITY } }] };
    index.put({ ...identity, type: 'MeshTrust', spec });
    for (const service of [...index.resources('MeshService')]) {
      const ids = selectedDataplanes(index, service).flatMap((proxy) => proxyIdentity(index, proxy)?.spiffeId ?? []);
      const identities = [...new Set(ids)].map((value) => ({ type: 'SpiffeID', value }));
      const status = { tls: { status: 'Ready', enforced: true } };
      index.put({ ...service, spec: { ...service.spec, identities }, status });
    }
  }
  return index;
}

/** A proxy beside a program that forwards its access logs, as the recorded ones were. */
export function configOf({ index }: RecordedCase, name: string): ProxyConfig {
  const proxy = index.proxy(name);
  if (proxy === undefined) throw new Error(`the case has no Dataplane ${name}`);
  const workdir = `/run/kuma-dp/${name}`;
  return proxyConfig(index, proxy, {
    ...WITHOUT_FEATURES,
    reusePort: true,
    companion: workdir,
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

export function expected({ name }: RecordedCase, proxy: string): unknown {
  return JSON.parse(readFileSync(join(folder, name, 'expected', `${proxy}.json`), 'utf8'));
}

function specOf(document: JsonObject): JsonObject {
  if (typeOf(textOf(document['type'])).codec.kind === 'json') return objectOf(document['spec']);
  return Object.fromEntries(Object.entries(document).filter(([key]) => !META.has(key)));
}

/** Rows are as old as they stand in the files. */
function rowOf(document: JsonObject, age: number): Resource {
  const [type, name] = [textOf(document['type']), textOf(document['name'])];
  const info = typeOf(type);
  const mesh = info.scope === 'Mesh' ? textOf(document['mesh']) : '';
  const spec = specOf(document);
  const labels = computeLabels(info, { displayName: name, mesh, labels: textMapOf(document['labels']), spec }, ZONE);
  return makeRow(type, name, { mesh, labels, spec, creationTime: new Date(age * 1000) });
}

function policyRow({ type, name, spec }: ReturnType<typeof initialPolicies>[number]): Resource {
  const labels = computeLabels(typeOf(type), { displayName: name, mesh: 'shop', labels: {}, spec }, ZONE);
  return makeRow(type, name, { mesh: 'shop', labels, spec });
}
