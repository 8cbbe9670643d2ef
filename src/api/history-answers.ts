// Versions of a resource as answers: what each of them changed, and its document. Pure; in steps, because a document may be large.
import type { Steps } from '../base/steps.ts';
import { toUniversal, editable } from '../document/universal-form.ts';
import { zoneNamed } from '../resource/ownership.ts';
import type { TypeInfo } from '../resource/type-registry.ts';
import type { Json, JsonObject, Resource } from '../resource/types.ts';
import type { ResourceVersion } from '../store/history-store.ts';
import type { Answer } from '../answers/answers.ts';
import { diffSteps } from '../document/json-diff.ts';

/** The largest number of changed paths that a list names for one version. */
const MAX_PATHS = 20;

/** A version in a list. @param previous the version before it; undefined for the oldest that is kept */
export function* versionSummary(
  info: TypeInfo,
  version: ResourceVersion,
  previous: ResourceVersion | undefined,
): Steps<Answer<'VersionSummary'>> {
  const isUpdate = version.action === 'updated' && previous !== undefined;
  const paths = isUpdate ? (yield* changesBetween(info, previous, version)).map(({ path }) => path) : [];
  return {
    ...factsOf(info, version),
    ...(isUpdate && { changed: paths.slice(0, MAX_PATHS), changes: paths.length }),
  };
}

/** A version with its document, and its difference to another one. @param from undefined: to nothing */
export function* versionAnswer(
  info: TypeInfo,
  version: ResourceVersion,
  from: ResourceVersion | undefined,
): Steps<Answer<'Version'>> {
  const resource = documentOf(info, version);
  const diff = from === undefined ? null : yield* changesBetween(info, from, version);
  return {
    ...factsOf(info, version),
    ...(from !== undefined && diff !== null && { from: from.version, diff }),
    ...(resource !== null && { resource }),
  };
}

/** One line of the export: a version with its whole content. */
export function exportedVersion(info: TypeInfo, version: ResourceVersion): JsonObject {
  const { type, mesh, name, id, labels, spec } = version;
  const where = { id, type, ...(mesh !== '' && { mesh }), name };
  const content = version.action === 'deleted' ? {} : { labels, ...(spec !== null && { spec }) };
  return { ...where, ...factsOf(info, version), ...content };
}

/** The document of a version, as a PUT takes it; null after a deletion. A secret has no data. */
export function documentOf(info: TypeInfo, version: ResourceVersion): JsonObject | null {
  if (version.action === 'deleted') return null;
  const { type, mesh, name, labels, spec, time, rowVersion } = version;
  const resource: Resource = {
    ...{ type, mesh, name, labels, spec: spec ?? {}, status: {}, version: rowVersion },
    ...{ creationTime: time, modificationTime: time, owner: null, syncVersion: null },
  };
  return editable(toUniversal(info, resource));
}

function* changesBetween(info: TypeInfo, from: ResourceVersion, to: ResourceVersion): Steps<Answer<'Change'>[]> {
  const [before, after]: Json[] = [documentOf(info, from), documentOf(info, to)];
  return yield* diffSteps(before ?? null, after ?? null);
}

function factsOf(info: TypeInfo, version: ResourceVersion): Omit<Answer<'VersionSummary'>, 'changed' | 'changes'> {
  const { action, author, via, restored, time, rowVersion } = version;
  const zone = zoneNamed(version.labels);
  return {
    ...{ version: version.version, etag: String(rowVersion), action },
    ...(author !== null && { by: author }),
    via,
    time: time.toISOString(),
    ...(zone !== undefined && { zone }),
    ...(restored !== null && { restored }),
    ...(info.adminOnly && { isHidden: true }),
  };
}
