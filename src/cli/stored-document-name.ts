// The name under which a control plane stores a document: a namespace is part of it (decisions D2).
import { label } from '../resource/labels.ts';
import { storedNameOf as nameOf } from '../resource/stored-name.ts';
import type { ResourceDocument } from './documents.ts';
import { objectOf } from '../resource/read-json.ts';

export function storedNameOf({ name, body }: Pick<ResourceDocument, 'name' | 'body'>): string {
  const namespace = objectOf(body['labels'])[label.namespace];
  return nameOf(name, typeof namespace === 'string' ? namespace : undefined).storedName;
}
