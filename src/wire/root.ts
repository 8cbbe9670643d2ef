// The messages of proto/, as reflection. The descriptor is generated: `npm run gen` after a change of proto/.
import protobuf from 'protobufjs/light.js';
import type { Type } from 'protobufjs/light.js';
import descriptor from './generated/descriptor.json' with { type: 'json' };

const root = protobuf.Root.fromJSON(descriptor);
root.resolveAll();

/**
 * The message of a full name, `kuma.mesh.v1alpha1.Mesh`.
 * @throws Error when proto/ has no message of that name
 */
export function messageType(name: string): Type {
  return root.lookupType(name);
}
