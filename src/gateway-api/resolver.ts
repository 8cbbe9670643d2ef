// What the converter asks of its surroundings: which mesh service a reference names, as it stands now.
import type { Labels } from '../resource/types.ts';
import type { ObjectRef } from './gateway-route.ts';

export type ServicePort = {
  readonly port: number;
  /** The section; a port without a name is called by its number. */
  readonly name?: string | undefined;
  readonly appProtocol?: string | undefined;
};

/** A service of the mesh that a reference was found to name. */
export type Referent = {
  readonly kind: 'MeshService' | 'MeshExternalService' | 'MeshMultiZoneService';
  /** The display name. */
  readonly name: string;
  readonly namespace?: string | undefined;
  readonly ports: readonly ServicePort[];
  readonly annotations?: Labels | undefined;
};

/**
 * `found`, or the reason for people: `missing` may appear later (D24), `foreign` is of a kind that this control plane does not
 * resolve (GEP-718 «Support: Custom»).
 */
export type Resolution = { readonly found: Referent } | { readonly missing: string } | { readonly foreign: string };

export type Resolver = (ref: ObjectRef) => Resolution;

/** The section of a port: its name, else its number as text (policies 1.4). */
export function sectionOf(port: ServicePort): string {
  return port.name === undefined || port.name === '' ? String(port.port) : port.name;
}

/** `80 (http), 9090`: for messages to people. */
export function describePorts(referent: Referent): string {
  const ports = referent.ports.map((port) => (port.name ? `${String(port.port)} (${port.name})` : String(port.port)));
  return ports.length === 0 ? 'none' : ports.join(', ');
}
