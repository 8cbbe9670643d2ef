// The attributes of log records and spans about the proxy that sends them, as with Kuma (xds 3.3).

export type Origin = {
  readonly mesh: string;
  readonly zone: string;
  /** The name of the workload of the proxy. */
  readonly workload: string;
};

/** The names and values of the attributes. */
export function originAttributes({ mesh, zone, workload }: Origin): [name: string, value: string][] {
  return [
    ['kuma.mesh', mesh],
    ['kuma.zone', zone],
    ['kuma.workload', `kri_wl_${mesh}_${zone}__${workload}_`],
  ];
}
