// KRIs for people: `MeshService cart.shop (east), port 80`. The parts are those of policies 3.1.
import { findTypeByAnyName } from '../../resource/type-registry.ts';

type Parts = {
  readonly type: string;
  readonly zone: string;
  readonly namespace: string;
  readonly name: string;
  readonly section: string;
};

/** `cart.shop (east)`: the display name with namespace and zone, if there are any. */
export function shortName(kri: string, mesh: string): string {
  const { zone, namespace, name } = partsOf(kri, mesh);
  return `${name}${namespace === '' ? '' : `.${namespace}`}${zone === '' ? '' : ` (${zone})`}`;
}

/** `MeshService cart.shop (east) http`: with type and section. */
export function longName(kri: string, mesh: string): string {
  const { type, section } = partsOf(kri, mesh);
  return [type, shortName(kri, mesh), section].filter(Boolean).join(' ');
}

/** Text other than a KRI of this mesh is a name. */
function partsOf(kri: string, mesh: string): Parts {
  const short = kri.split('_', 2)[1] ?? '';
  const type = findTypeByAnyName(short)?.name ?? '';
  if (type === 'Mesh') return { type, zone: '', namespace: '', name: kri.slice('kri_m____'.length, -1), section: '' };
  const head = `kri_${short}_${mesh}_`;
  if (type === '' || !kri.startsWith(head)) return { type: '', zone: '', namespace: '', name: kri, section: '' };
  const [zone = '', namespace = '', name = '', ...section] = kri.slice(head.length).split('_');
  return { type, zone, namespace, name, section: section.join('_') };
}
