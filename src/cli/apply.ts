// `meridian apply`: puts documents in order and tells of each what became of it.
import { MeridianError } from '../base/errors.ts';
import { label } from '../resource/labels.ts';
import type { JsonObject } from '../resource/types.ts';
import type { ApiClient } from './api-client.ts';
import type { ResourceDocument } from './documents.ts';

export type Applied = {
  readonly document: ResourceDocument;
  readonly result: 'created' | 'configured' | 'failed';
  readonly messages: readonly string[];
};

/**
 * Applies documents one after the other; a failure is reported and the others go on.
 * Against a zone that has a global, a missing `kuma.io/origin` is added and said (decisions D6).
 */
export async function* applyDocuments(client: ApiClient, documents: readonly ResourceDocument[]): AsyncGenerator<Applied> {
  const { mode } = await client.index();
  for (const document of documents) {
    const messages: string[] = [];
    const body = mode === 'zone' ? withOrigin(document, messages) : document.body;
    try {
      const { created, warnings } = await client.put(document.info, document.mesh, document.name, body);
      yield { document, result: created ? 'created' : 'configured', messages: [...messages, ...warnings] };
    } catch (error) {
      if (!(error instanceof MeridianError) || error.code === 'unavailable') throw error;
      const reasons = error.violations.map(({ field, reason }) => `${field}: ${reason}`);
      yield { document, result: 'failed', messages: reasons.length > 0 ? reasons : [error.message] };
    }
  }
}

function withOrigin({ info, body }: ResourceDocument, messages: string[]): JsonObject {
  const labels =
    typeof body['labels'] === 'object' && body['labels'] !== null && !Array.isArray(body['labels']) ? body['labels'] : {};
  if (info.codec.kind !== 'json' || labels[label.origin] !== undefined) return body;
  messages.push(`label ${label.origin}: zone was added`);
  return { ...body, labels: { ...labels, [label.origin]: 'zone' } };
}
