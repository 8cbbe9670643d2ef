// Writes an earlier version of a resource again: its document passes every check of a PUT.
import { MeridianError } from '../base/errors.ts';
import type { TypeInfo } from '../resource/type-registry.ts';
import { describeKey } from '../resource/types.ts';
import type { ResourceVersion } from '../store/history-store.ts';
import { ApiError } from '../http/error-body.ts';
import { documentOf } from './history-answers.ts';
import type { DryRun, PutResult, ResourceService, WriteCall } from '../writes/resource-service.ts';

type Call = WriteCall & { readonly dryRun: boolean };

/**
 * A resource that is as in that version stays unchanged.
 * @throws ApiError 400 for a deletion and for a secret, and every error of a PUT, with the version in its title
 */
export async function rollBack(
  info: TypeInfo,
  version: ResourceVersion,
  service: ResourceService,
  { dryRun, ...call }: Call,
): Promise<PutResult | DryRun> {
  const { mesh, name } = version;
  const title = `Could not roll back to version ${String(version.version)}`;
  const refuse = (reason: string): never => {
    throw new ApiError('invalid', title, `to: ${reason}`, [{ field: 'to', reason }]);
  };
  if (info.adminOnly) refuse(`the data of ${describeKey(version)} is not kept in the history; write it again`);
  const document =
    documentOf(info, version) ?? refuse(`version ${String(version.version)} is a deletion; name a version before it`);
  const text = JSON.stringify(document);
  try {
    const planned = await service.dryRun(info, { mesh, name }, text, call);
    return dryRun || planned.result === 'unchanged' ? planned : await service.put(info, { mesh, name }, text, call);
  } catch (error) {
    if (!(error instanceof MeridianError) || ['unavailable', 'internal'].includes(error.code)) throw error;
    throw new ApiError(error.code, title, error.message, error.violations, {
      ...(error instanceof ApiError && error.status !== undefined && { status: error.status }),
      ...(error.missing !== undefined && { missing: error.missing }),
    });
  }
}
