// The resources that objects of the system namespace mean. A global that was imported from Kubernetes has their namespace in a label and in
// the stored name; another global has neither (decision 127).
import { MeridianError } from '../../base/errors.ts';
import { displayNameOf, label } from '../../resource/labels.ts';
import { SYSTEM_NAMESPACE } from '../../resource/policy-role.ts';
import { objectOf, textOf } from '../../resource/read-json.ts';
import { storedNameOf } from '../../resource/stored-name.ts';
import type { ApiClient } from '../client/api-client.ts';
import type { ResourceDocument } from './read-files.ts';

const FILTER = { [`filter[labels.${label.namespace}]`]: SYSTEM_NAMESPACE };

/** The documents, each of the system namespace with the label and the stored name if the control plane has the resource under these. */
export async function inSystemNamespace(
  client: Pick<ApiClient, 'list'>,
  documents: readonly ResourceDocument[],
): Promise<ResourceDocument[]> {
  const known = new Map<string, ReadonlySet<string>>();
  const found: ResourceDocument[] = [];
  for (const document of documents) {
    const { info, mesh, name } = document;
    if (document.isInSystemNamespace !== true) {
      found.push(document);
      continue;
    }
    const list = JSON.stringify([info.name, mesh]);
    const names = known.get(list) ?? (await namesIn(client, document));
    known.set(list, names);
    found.push(names.has(name) ? withNamespace(document) : document);
  }
  return found;
}

async function namesIn(client: Pick<ApiClient, 'list'>, { info, mesh }: ResourceDocument): Promise<ReadonlySet<string>> {
  // A Mesh that the same documents create has no resources yet.
  const items = await client
    .list(info, info.scope === 'Mesh' ? mesh : undefined, FILTER)
    .catch((error: unknown) => noMesh(error));
  return new Set(items.map((item) => displayNameOf({ name: textOf(item.name), labels: item.labels ?? {} })));
}

function noMesh(error: unknown): [] {
  if (error instanceof MeridianError && error.code === 'not_found') return [];
  throw error;
}

function withNamespace(document: ResourceDocument): ResourceDocument {
  const name = storedNameOf({ displayName: document.name, namespace: SYSTEM_NAMESPACE });
  const labels = { ...objectOf(document.body['labels']), [label.namespace]: SYSTEM_NAMESPACE };
  return { ...document, name, body: { ...document.body, name, labels } };
}
