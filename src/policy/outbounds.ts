// The outbounds to a service: one for each of its ports.
import type { Resource } from '../resource/types.ts';
import type { MeshIndex } from './mesh-index.ts';
import { servicePorts } from './services.ts';

export type Outbound = {
  /** The KRI of the service with the section of the port. */
  readonly kri: string;
  /** The KRI of the service. */
  readonly base: string;
  readonly section: string;
  readonly resource: Resource;
  readonly port: number;
  readonly protocol: string;
};

const known = new WeakMap<Resource, readonly Outbound[]>();

/** The outbounds to a service, one for each port. They are made once: many proxies have them. */
export function outboundsTo(index: MeshIndex, resource: Resource): readonly Outbound[] {
  let outbounds = known.get(resource);
  if (outbounds === undefined) {
    const base = index.kriOf(resource);
    outbounds = servicePorts(resource).map(({ section, port, protocol }) => ({
      kri: base + section,
      base,
      section,
      resource,
      port,
      protocol,
    }));
    known.set(resource, outbounds);
  }
  return outbounds;
}
