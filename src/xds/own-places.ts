// The places where a Dataplane listens itself: those of its inbounds and of its zone listeners.
import { perObject } from '../base/per-object.ts';
import type { DataplaneProxy } from '../policy/dataplane-proxy.ts';
import { objectOf, objectsOf, textOf } from '../resource/read-json.ts';
import { placeName } from './listener-place.ts';
import { zonePlaces } from './zone-places.ts';

/** By `placeName`, the field of `networking` that uses the place. */
export const ownPlaces = perObject((proxy: DataplaneProxy): ReadonlyMap<string, string> => {
  const networking = objectOf(proxy.resource.spec['networking']);
  const given = objectsOf(networking['inbound']);
  const inbounds = proxy.sections
    .filter(({ kind }) => kind === 'Inbound')
    .map(({ port }, at) => {
      const address = textOf(given[at]?.['address']) || textOf(networking['address']);
      return [placeName(address, port), `inbound[${String(at)}]`] as const;
    });
  const zone = zonePlaces(proxy).map(
    ({ section, field, address }) => [placeName(address, section.port), field.replace('networking.', '')] as const,
  );
  return new Map([...zone, ...inbounds]);
});
