// The forms in which `get` prints resources (`--format`), in the order of the input.
import { MeridianError } from '../../base/errors.ts';
import { displayNameOf } from '../../resource/labels.ts';
import { SERVICE_TYPES, typeOf, type TypeInfo } from '../../resource/type-registry.ts';
import type { JsonObject } from '../../resource/types.ts';
import { fromUniversal, type DocumentedResource } from '../../document/universal-form.ts';
import type { Item } from '../client/api-client.ts';
import { EXIT, UsageError } from '../exit-codes.ts';
import { note } from '../output.ts';

/** Reads other resources of the mesh. */
type Client = { readonly list: (info: TypeInfo, mesh: string) => Promise<readonly Item[]> };

/** @throws MeridianError for resources without such a form */
type ResourceForm = (info: TypeInfo, items: readonly Item[], client: Client) => Promise<readonly JsonObject[]>;

export const resourceForms: Readonly<Record<'universal' | 'kubernetes' | 'gateway-api', ResourceForm>> = {
  universal: async (_info, items) => items,
  kubernetes: async (info, items) => {
    const { toKubernetes } = await import('../../document/kubernetes-form.ts');
    return items.map((item) => toKubernetes(info, fromUniversal(info, item)));
  },
  'gateway-api': gatewayForm,
};

/**
 * Prints the routes that Gateway API can express. Others are reported, and the exit code is 1.
 * @throws UsageError for a type other than routes; MeridianError `invalid` with the unsupported fields if nothing can be printed
 */
async function gatewayForm(info: TypeInfo, items: readonly Item[], client: Client): Promise<readonly JsonObject[]> {
  const { GATEWAY_FORM_TYPES, toGatewayForm } = await import('../../document/gateway-form.ts');
  const { GATEWAY_TYPES } = await import('../../gateway-api/stored-document.ts');
  if (!GATEWAY_FORM_TYPES.includes(info.name))
    throw new UsageError(`--format gateway-api shows ${GATEWAY_FORM_TYPES.join(', ')}; ${info.name} has no form there`);
  const resourcesOf = async (type: string, mesh: string): Promise<DocumentedResource[]> =>
    (await client.list(typeOf(type), mesh)).map((item) => fromUniversal(typeOf(type), item));
  const around = async (mesh: string): Promise<Parameters<typeof toGatewayForm>[1]> => {
    // A route that was written in this form needs no other resources.
    if (GATEWAY_TYPES.has(info.name)) return { services: [], timeouts: [] };
    const services = (await Promise.all(SERVICE_TYPES.map((type) => resourcesOf(type, mesh)))).flat();
    return { services, timeouts: await resourcesOf('MeshTimeout', mesh) };
  };
  const meshes = new Map<string, ReturnType<typeof around>>();
  const documents: JsonObject[] = [];
  const refused: string[][] = [];
  for (const route of items.map((item) => fromUniversal(info, item))) {
    const known = meshes.get(route.mesh) ?? around(route.mesh);
    meshes.set(route.mesh, known);
    const outcome = toGatewayForm(route, await known);
    if ('document' in outcome) documents.push(outcome.document);
    else
      refused.push(outcome.violations.map(({ field, reason }) => `  ${route.mesh}/${displayNameOf(route)}: ${field}: ${reason}`));
  }
  if (refused.length === 0) return documents;
  const routes = refused.length === 1 ? 'this route' : 'these routes';
  const text = `Gateway API cannot express ${routes}:\n${refused.flat().join('\n')}`;
  if (documents.length === 0) throw new MeridianError('invalid', text);
  note(text);
  process.exitCode = EXIT.failed;
  return documents;
}
