// The forms in which `get` can give resources besides Universal (`--format`). Each is a function in a file of its own or a line here.
import type { Json } from '../resource/types.ts';
import type { TypeInfo } from '../resource/type-registry.ts';
import type { ApiClient, Item } from './client/api-client.ts';

/** @returns the documents, in the same order. The function reports documents without such a form. */
export type ResourceForm = (info: TypeInfo, items: readonly Item[], client: ApiClient) => Promise<Json[]>;

export const resourceForms: Readonly<Record<string, ResourceForm>> = {
  universal: async (_info, items) => [...items],
  kubernetes: async (info, items, client) => {
    const documents: Json[] = [];
    for (const { mesh = '', name } of items) documents.push(await client.getKubernetes(info, mesh, name));
    return documents;
  },
  'gateway-api': async (info, items, client) => {
    const { gatewayForm } = await import('./gateway-format.ts');
    return await gatewayForm(info, items, client);
  },
};
