// The name under which a control plane stores a document: a namespace is part of it (D2).
import { label } from '../resource/labels.ts';
import { isClusterWide, namesOf } from '../resource/stored-name.ts';
import type { ResourceDocument } from './documents.ts';
import { objectOf } from '../resource/read-json.ts';

export function storedNameOf({ info, name, body }: Pick<ResourceDocument, 'info' | 'name' | 'body'>): string {
  const namespace = objectOf(body['labels'])[label.namespace];
  return namesOf(name, typeof namespace === 'string' && !isClusterWide(info) ? namespace : '').storedName;
}
