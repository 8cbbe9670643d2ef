// The names that the DNS server of a proxy answers itself.

type NameTable = {
  /**
   * The addresses of a hostname, as text of IPv4 or IPv6; undefined for a name that is not in the table.
   * @param hostname in lower case, without a dot at its end
   */
  lookup(hostname: string): readonly string[] | undefined;
};

export type MeshNames = {
  readonly table: NameTable;
  /** Whether the table was ever filled. Before that a name that is not in it may exist. */
  readonly isKnown: () => boolean;
  /** Whether a name exists that is not in the table yet: its listeners do not listen. @param hostname as for `lookup` */
  readonly isWaiting: (hostname: string) => boolean;
  /** Whether a name that has IPv4 addresses alone is answered with their IPv4-mapped form where a client asks for IPv6. */
  readonly mapsIpv4: boolean;
};

/**
 * The suffix of the hostnames that the default HostnameGenerators give. No resolver has names below it: `.local` belongs to the local
 * network (RFC 6762).
 */
const MESH_SUFFIX = '.mesh.local';

/** Whether no resolver knows the name better than the table. @param hostname in lower case, without a dot at its end */
export function isMeshName(hostname: string): boolean {
  return hostname.endsWith(MESH_SUFFIX);
}
