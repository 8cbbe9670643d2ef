// Where the listeners of a zone proxy listen.
import type { DataplaneProxy, Section } from '../policy/dataplane-proxy.ts';
import { objectOf, objectsOf, textOf } from '../resource/read-json.ts';
import type { JsonObject } from '../resource/types.ts';

/** Where a zone listener listens. */
type ZonePlace = { readonly section: Section; readonly field: string; readonly address: string };

/** The zone listeners of a Dataplane, in the form of Kuma and in that of MADR 095. */
export function zonePlaces({ resource, sections }: DataplaneProxy): ZonePlace[] {
  const networking = objectOf(resource.spec['networking']);
  const listed = objectsOf(networking['listeners']).map((listener, at) => ({ listener, field: `listeners[${String(at)}]` }));
  const single = (['zoneIngress', 'zoneEgress'] as const).flatMap((field) => {
    const listener = networking[field];
    return listener === undefined ? [] : [{ listener: objectOf(listener), field }];
  });
  const zoneSections = sections.filter(({ kind }) => kind !== 'Inbound');
  return [...listed, ...single].flatMap(({ listener, field }: { listener: JsonObject; field: string }, at) => {
    const section = zoneSections[at];
    const address = textOf(listener['address']) || textOf(networking['address']);
    return section === undefined ? [] : [{ section, field: `networking.${field}`, address }];
  });
}
