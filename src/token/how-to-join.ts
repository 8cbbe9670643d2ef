// What a person must run so that a zone may join: the sentence that ends every refusal of a zone (D31).

/** Names that can stand in a shell command as they are; others are no zones' names anyway (kds-wire 2.6). */
const RFC_1035_LABEL = /^[a-z]([a-z0-9-]{0,61}[a-z0-9])?$/;

export function isZoneName(name: string): boolean {
  return RFC_1035_LABEL.test(name);
}

/** @param zone an RFC 1035 label; check it with `isZoneName` */
export function howToJoin(zone: string): string {
  return (
    `Where the admin of the global is, run: meridian generate zone-token --zone ${zone} --scope cp --valid-for 8760h --out ${zone}.token; ` +
    `then give the zone that file: multizone.zone.kds.auth.tokenFile or ` +
    `MERIDIAN_MULTIZONE_ZONE_KDS_AUTH_TOKEN_FILE=${zone}.token`
  );
}

/** What a zone that can send no token needs: the other way in. */
export function howToLetIn(zone: string): string {
  return `A Kuma zone sends no token; let it in by listing ${zone} in multizone.global.kds.auth.allowWithoutToken of the global`;
}
