// The ports of services that a zone proxy opens: an ingress those of its zone to other zones, an egress those of external services to
// its zone (xds 5, MADR 095). Pure.
import { compareText } from '../base/compare-text.ts';
import type { DataplaneProxy, ZoneListenerKind } from '../policy/dataplane-proxy.ts';
import type { MeshIndex } from '../policy/mesh-index.ts';
import { outboundsTo, type Outbound } from '../policy/outbounds.ts';
import { memberServices } from '../policy/services.ts';
import { zoneNamed } from '../resource/ownership.ts';
import { kumaSni, serviceSni } from '../resource/sni.ts';
import type { Resource } from '../resource/types.ts';

export type ZonePort = {
  readonly kind: ZoneListenerKind;
  readonly outbound: Outbound;
  /** The server names by which clients ask for it: the form of Kuma, then the hashed one. An older service may have either. */
  readonly snis: readonly string[];
  /** Those that older services have. */
  readonly taken: readonly { readonly sni: string; readonly by: Outbound }[];
};

/** Whether a proxy opens ports of services. */
export function isZoneProxy(proxy: DataplaneProxy): boolean {
  return kindsOf(proxy).length > 0;
}

/**
 * The ports that a zone proxy opens.
 * @param only KRIs of services; null: all
 */
export function zonePorts(index: MeshIndex, proxy: DataplaneProxy, only: ReadonlySet<string> | null = null): ZonePort[] {
  return kindsOf(proxy).flatMap((kind) => zonePortsOfKind(index, proxy, kind, only));
}

/** As `zonePorts`, of the listeners of one kind, by KRI. */
export function zonePortsOfKind(
  index: MeshIndex,
  { zone }: DataplaneProxy,
  kind: ZoneListenerKind,
  only: ReadonlySet<string> | null = null,
): ZonePort[] {
  const services =
    kind === 'ZoneIngress'
      ? [...index.resources('MeshService'), ...index.resources('MeshMultiZoneService')]
      : [...index.visible('MeshExternalService', zone)];
  return services
    .filter((service) => (only === null || only.has(index.kriOf(service))) && isOpened(index, service, zone))
    .flatMap((service) => outboundsTo(index, service))
    .sort((a, b) => compareText(a.kri, b.kri))
    .map((outbound) => ({ kind, outbound, ...namesOf(index, outbound, zone) }));
}

/** A server name of a port that a port of another service has too. @property isOwn zone proxies lead to the port itself */
export type SharedSni = { readonly sni: string; readonly other: Outbound; readonly isOwn: boolean };

/** The server names that a port shares with ports of other services at the zone proxies of a zone. The oldest service has them. */
export function sharedSnis(index: MeshIndex, outbound: Outbound, zone: string): SharedSni[] {
  const own = new Set(snisOf(outbound));
  const older = new Set(index.snis.before(outbound.resource));
  return index.snis
    .of(outbound.resource)
    .filter((other) => isOpened(index, other, zone))
    .flatMap((other) =>
      outboundsTo(index, other).flatMap((port) =>
        snisOf(port)
          .filter((sni) => own.has(sni))
          .map((sni) => ({ sni, other: port, isOwn: !older.has(other) })),
      ),
    )
    .sort((a, b) => compareText(a.sni, b.sni) || compareText(a.other.kri, b.other.kri));
}

/** The server names of a port: each goes to the oldest service that has it, so that two services never share one cluster. */
function namesOf(index: MeshIndex, outbound: Outbound, zone: string): Pick<ZonePort, 'snis' | 'taken'> {
  const older = index.snis.before(outbound.resource).filter((other) => isOpened(index, other, zone));
  const holders = new Map(
    older.flatMap((other) => outboundsTo(index, other)).flatMap((by) => snisOf(by).map((sni) => [sni, by] as const)),
  );
  const snis = snisOf(outbound);
  const taken = snis.flatMap((sni) => {
    const by = holders.get(sni);
    return by === undefined ? [] : [{ sni, by }];
  });
  return { snis: snis.filter((sni) => !holders.has(sni)), taken };
}

function kindsOf({ sections }: DataplaneProxy): ZoneListenerKind[] {
  return (['ZoneIngress', 'ZoneEgress'] as const).filter((kind) => sections.some((section) => section.kind === kind));
}

/** An ingress opens what its zone has: its MeshServices, and the MeshMultiZoneServices with one of them. */
function isOpened(index: MeshIndex, service: Resource, zone: string): boolean {
  if (service.type === 'MeshExternalService') return index.isVisible(service, zone);
  const members = service.type === 'MeshService' ? [service] : memberServices(index, service);
  return members.some(({ labels }) => zoneNamed(labels) === zone);
}

/** The server names of a port: the form of Kuma, then the hashed one. */
export function snisOf({ resource, section, port }: Outbound): string[] {
  return [kumaSni(resource, section), serviceSni(resource, port)].filter((sni) => sni !== null);
}
