// The name under which a control plane stores a document: a namespace is part of it (decisions D2).
import { label } from '../resource/labels.ts';
import { isClusterWide, storedNameOf as nameOf } from '../resource/stored-name.ts';
import type { ResourceDocument } from './documents.ts';
import { objectOf } from '../resource/read-json.ts';

export function storedNameOf({ info, name, body }: Pick<ResourceDocument, 'info' | 'name' | 'body'>): string {
  const namespace = objectOf(body['labels'])[label.namespace];
  return nameOf(name, typeof namespace === 'string' && !isClusterWide(info) ? namespace : undefined).storedName;
}
