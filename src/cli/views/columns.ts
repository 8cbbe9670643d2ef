// The columns of tables of resources: those of every type, and those of single types. `-o wide` adds the wide ones.
// Invariant: the other columns of a type fit 80 characters for names of usual length.
import { displayNameOf, label } from '../../resource/labels.ts';
import type { TypeInfo } from '../../resource/type-registry.ts';
import type { Item } from '../client/api-client.ts';
import type { Column } from './table.ts';
import { gatewayRouteColumns } from './gateway-route.ts';
import { meshServiceColumns } from './mesh-service-columns.ts';
import { ageOf } from '../output.ts';
import { objectOf } from '../../resource/read-json.ts';

const ZONE: Column = { head: 'ZONE', of: ({ labels }) => labels?.[label.zone] ?? '-' };
/** The namespace of a resource from Kubernetes. */
export const NAMESPACE: Column = {
  head: 'NAMESPACE',
  ifAny: ({ labels }) => labels?.[label.namespace] !== undefined,
  of: ({ labels }) => labels?.[label.namespace] ?? '-',
};
const ORIGIN: Column = { head: 'ORIGIN', of: ({ labels }) => labels?.[label.origin] ?? '-' };

/** The columns between NAME and AGE, for types with more than ZONE and ORIGIN. */
const OF_TYPE: Readonly<Record<string, readonly Column[]>> = {
  Mesh: [],
  Zone: [{ head: 'ENABLED', of: ({ enabled }) => (enabled === false ? 'no' : 'yes') }],
  Dataplane: [ZONE, { head: 'ADDRESS', of: ({ networking }) => String(objectOf(networking)['address'] ?? '-') }],
  HTTPRoute: [ZONE, ...gatewayRouteColumns],
  TCPRoute: [ZONE, ...gatewayRouteColumns],
  MeshService: [ZONE, ...meshServiceColumns],
};

export function columnsOf(info: TypeInfo, { wide }: { wide: boolean }): readonly Column[] {
  const own = OF_TYPE[info.name];
  const all: Column[] = [
    ...(info.scope === 'Mesh' ? [{ head: 'MESH', of: ({ mesh = '' }: Item) => mesh }] : []),
    NAMESPACE,
    { head: 'NAME', of: displayNameOf },
    ...(own ?? [ZONE]),
    { ...ORIGIN, wide: own !== undefined },
    { head: 'STORED NAME', wide: true, of: ({ name }) => name },
    { head: 'UPDATED', wide: own !== undefined && own.length > 1, of: ({ modificationTime }) => ageOf(modificationTime) },
    { head: 'AGE', of: ({ creationTime }) => ageOf(creationTime) },
    { head: 'LABELS', wide: true, of: labelsOf },
  ];
  return all.filter((column) => wide || column.wide !== true);
}

function labelsOf({ labels = {} }: Item): string {
  return Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(',');
}
