// The messages of proto/, as reflection. The descriptors are generated: `npm run gen` after a change of proto/.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import protobuf from 'protobufjs/light.js';
import type { INamespace, Root, Type } from 'protobufjs/light.js';
import descriptor from './generated/descriptor.json' with { type: 'json' };

const root = resolved(descriptor);
let envoyRoot: Root | null = null;

/**
 * The message of a full name, `kuma.mesh.v1alpha1.Mesh`.
 * @throws Error when proto/ has no message of that name
 */
export function messageType(name: string): Type {
  return root.lookupType(name);
}

/**
 * A message of Envoy's API, `envoy.config.cluster.v3.Cluster`. The first call reads the descriptors, in about 50 ms.
 * @throws Error when proto/envoy-api has no message of that name
 */
export function envoyMessageType(name: string): Type {
  envoyRoot ??= resolved(JSON.parse(readFileSync(join(import.meta.dirname, 'generated/envoy.json'), 'utf8')) as INamespace);
  return envoyRoot.lookupType(name);
}

/** Another message of the descriptors that `type` is of. @throws Error when there is none of that name */
export function siblingType(type: Type, name: string): Type {
  return type.root.lookupType(name);
}

function resolved(json: INamespace): Root {
  const made = protobuf.Root.fromJSON(json);
  made.resolveAll();
  return made;
}
