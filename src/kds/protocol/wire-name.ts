// The name of a resource on the wire, in parts (kds-wire 2.3). Pure.

/** `<name>.<mesh>`, split at the last dot; without a dot there is no mesh (kds-wire 2.3). */
export function splitWireName(wireName: string): { name: string; mesh: string } {
  const dot = wireName.lastIndexOf('.');
  return dot < 0 ? { name: wireName, mesh: '' } : { name: wireName.slice(0, dot), mesh: wireName.slice(dot + 1) };
}
