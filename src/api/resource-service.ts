// What a REST call does to the store: the checks of a write in Kuma's order, then one write (rest-api 2.4).
// Invariant: nothing is stored unless every check has passed; the last writer wins (decisions D33).
import { describeKey, type JsonObject, type Labels, type Resource, type ResourceKey } from '../resource/types.ts';
import { normalizeSpec } from '../resource/codec.ts';
import { computeLabels, refusedLabels, type Writer } from '../resource/compute-labels.ts';
import { label } from '../resource/labels.ts';
import type { TypeInfo } from '../resource/type-registry.ts';
import { validateResource } from '../resource/validate-spec.ts';
import { isOnline } from '../resource/zone-insight.ts';
import type { Violation } from '../base/errors.ts';
import type { ResourceStore, Write, WriteOutcome } from '../store/resource-store.ts';
import { ApiError } from './error-body.ts';
import { parseBody } from './resource-body.ts';

const RFC_1123_SUBDOMAIN = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/;
const INVALID = 'Could not process a resource';
const ATTEMPTS = 5;

export type ServiceOptions = {
  readonly store: ResourceStore;
  readonly writer: Writer;
  readonly readOnly: boolean;
  /** What is written in one transaction with a new Mesh. */
  readonly meshDefaults: (mesh: Pick<Resource, 'name' | 'spec'>) => Promise<Write[]>;
};

export class ResourceService {
  readonly #options: ServiceOptions;

  constructor(options: ServiceOptions) {
    this.#options = options;
  }

  /** @throws ApiError 404 */
  async get(info: TypeInfo, mesh: string, name: string, title = 'Could not retrieve a resource'): Promise<Resource> {
    const row = await this.#options.store.get({ type: info.name, mesh, name });
    if (row === undefined) throw new ApiError('not_found', title, `Not found: ${describeKey({ type: info.name, mesh, name })}`);
    return row;
  }

  /** Creates or replaces. @throws ApiError that names each field at fault; then nothing has changed */
  async put(info: TypeInfo, mesh: string, name: string, given: unknown): Promise<'created' | 'updated'> {
    const { store, writer } = this.#options;
    this.#requireWritable(info);
    await this.#requireMesh(info, mesh);
    const body = parseBody(info, given);
    const spec = this.#normalize(info, body.spec);
    const { storedName, displayName } = nameOf(name, body.labels[label.namespace]);
    const key: ResourceKey = { type: info.name, mesh, name: storedName };
    const draft = { displayName, mesh, labels: body.labels, spec };
    const violations: Violation[] = [
      ...mismatches(info, key, name, body),
      ...nameViolations(storedName),
      ...refusedLabels(info, draft, writer),
      ...validateResource(info, { name: displayName, mesh, labels: body.labels, spec }),
    ];
    if (violations.length > 0)
      throw new ApiError('invalid', INVALID, violations.map(({ field, reason }) => `${field}: ${reason}`).join('; '), violations);
    const labels = computeLabels(info, draft, writer);
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      const stored = await store.get(key);
      if (stored !== undefined) this.#requireOwn(stored, 'update');
      const outcome =
        stored === undefined
          ? await this.#create({ op: 'create', key, labels, spec, status: {}, owner: ownerOf(info, mesh) })
          : await this.#update(stored, { key, labels, spec: withComputed(info, spec, stored.spec) });
      if (outcome.result === 'rejected')
        throw new ApiError('invalid', INVALID, outcome.message, [{ field: 'name', reason: outcome.message }]);
      if (outcome.result === 'updated') return 'updated';
      if (outcome.result === 'created') return 'created';
    }
    throw new ApiError('conflict', 'Conflict', `resource conflict: ${describeKey(key)} is being written by others; try again`);
  }

  async #update(stored: Resource, content: { key: ResourceKey; labels: Labels; spec: JsonObject }): Promise<WriteOutcome> {
    return await this.#options.store.write({ op: 'update', ...content, expectVersion: stored.version });
  }

  /** A Mesh comes with its defaults or not at all. */
  async #create(write: Write & { readonly op: 'create' }): Promise<WriteOutcome> {
    const { store, meshDefaults } = this.#options;
    if (write.key.type !== 'Mesh') return await store.write(write);
    const [outcome] = await store.writeBatch([write, ...(await meshDefaults({ name: write.key.name, spec: write.spec }))]);
    return outcome ?? { result: 'missing' };
  }

  /** @throws ApiError: 404, 405, 400 where something still needs it */
  async delete(info: TypeInfo, mesh: string, name: string): Promise<void> {
    const { store } = this.#options;
    this.#requireWritable(info);
    await this.#requireMesh(info, mesh);
    const title = 'Could not delete a resource';
    const stored = await this.get(info, mesh, name, title);
    this.#requireOwn(stored, 'delete');
    if (info.name === 'Mesh' && (await store.count({ type: 'Dataplane', mesh: name })) > 0) {
      throw new ApiError('invalid', title, 'name: the mesh still has Dataplanes; delete them first', [
        { field: 'name', reason: 'the mesh still has Dataplanes; delete them first' },
      ]);
    }
    if (info.name === 'Zone') {
      const insight = await store.get({ type: 'ZoneInsight', mesh: '', name });
      if (insight !== undefined && isOnline(insight.spec)) {
        throw new ApiError('invalid', title, 'name: the zone is online; stop it first', [
          { field: 'name', reason: 'the zone is online; stop it first' },
        ]);
      }
    }
    const outcome = await store.write({ op: 'delete', key: { type: info.name, mesh, name } });
    if (outcome.result === 'missing') throw new ApiError('not_found', title, `Not found: ${describeKey(stored)}`);
  }

  #requireWritable(info: TypeInfo): void {
    const { writer, readOnly } = this.#options;
    const allowed =
      info.writers === 'both' ||
      info.writers === writer.mode ||
      (info.writers !== 'none' && writer.mode === 'zone' && !writer.federated);
    if (allowed && !readOnly) return;
    const where = readOnly
      ? 'this API is read-only'
      : info.writers === 'none'
        ? 'control planes write it themselves'
        : `write it on a ${info.writers}`;
    throw new ApiError('read_only', 'Method not allowed', `${info.name} cannot be written here: ${where}`);
  }

  async #requireMesh(info: TypeInfo, mesh: string): Promise<void> {
    if (info.scope === 'Global') return;
    if ((await this.#options.store.get({ type: 'Mesh', mesh: '', name: mesh })) !== undefined) return;
    throw new ApiError(
      'not_found',
      'Failed to retrieve Mesh',
      `Not found: mesh ${JSON.stringify(mesh)} does not exist; create it first`,
    );
  }

  /** What came from the other side by KDS is written there alone. */
  #requireOwn(stored: Resource, verb: string): void {
    const { mode } = this.#options.writer;
    const origin = stored.labels[label.origin];
    if ((origin === undefined || origin === mode) && stored.syncVersion === null) return;
    const zone = stored.labels[label.zone];
    const home = mode === 'global' ? `zone ${zone ?? ''}`.trim() : zone === undefined ? 'global' : `zone ${zone}`;
    const reason = `this is a copy of a resource of ${home}: ${verb} it there`;
    throw new ApiError('invalid', verb === 'delete' ? 'Could not delete a resource' : INVALID, reason, [
      { field: `labels[${JSON.stringify(label.origin)}]`, reason },
    ]);
  }

  #normalize(info: TypeInfo, spec: JsonObject): JsonObject {
    return normalizeSpec(info, spec);
  }
}

/** A resource with a namespace is stored as `name.namespace`, with display name `name` (decisions D2). */
function nameOf(name: string, namespace: string | undefined): { storedName: string; displayName: string } {
  if (namespace === undefined || namespace === '') return { storedName: name, displayName: name };
  const suffix = `.${namespace}`;
  return name.endsWith(suffix)
    ? { storedName: name, displayName: name.slice(0, -suffix.length) }
    : { storedName: name + suffix, displayName: name };
}

/** Type, name and mesh of the body equal those of the URL. */
function mismatches(
  info: TypeInfo,
  key: ResourceKey,
  urlName: string,
  body: { type: unknown; name: unknown; mesh: unknown },
): Violation[] {
  const violations: Violation[] = [];
  if (body.type !== info.name) violations.push({ field: 'type', reason: `must be ${info.name}, as in the URL` });
  if (body.name !== urlName && body.name !== key.name)
    violations.push({ field: 'name', reason: `must be ${urlName}, as in the URL` });
  if (info.scope === 'Mesh' && body.mesh !== key.mesh)
    violations.push({ field: 'mesh', reason: `must be ${key.mesh}, as in the URL` });
  return violations;
}

function nameViolations(name: string): Violation[] {
  if (name.length > 253) return [{ field: 'name', reason: 'must have at most 253 characters' }];
  if (RFC_1123_SUBDOMAIN.test(name)) return [];
  return [
    {
      field: 'name',
      reason:
        'must be an RFC 1123 subdomain: lower-case letters, digits, «-» and «.», starting and ending with a letter or digit',
    },
  ];
}

/** kds-wire 7: mesh-scoped rows go with their Mesh, except Dataplane and Secret. */
function ownerOf(info: TypeInfo, mesh: string): ResourceKey | null {
  if (info.scope === 'Global' || info.name === 'Dataplane' || info.name === 'Secret') return null;
  return { type: 'Mesh', mesh: '', name: mesh };
}

/** What the control plane computes stays as it is (decisions D21); a first value may be given where there is none. */
function withComputed(info: TypeInfo, spec: JsonObject, stored: JsonObject): JsonObject {
  if (info.name !== 'MeshService') return spec;
  const kept = ['state', 'identities', 'zoneIngress'].flatMap((key) => {
    const value = stored[key];
    return value === undefined ? [] : [[key, value] as const];
  });
  return { ...spec, ...Object.fromEntries(kept) };
}
