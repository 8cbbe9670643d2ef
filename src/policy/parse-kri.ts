// KRIs taken apart (policies 3.1). A mesh with `_` in its name is read right, since the mesh is known.
import { findTypeByAnyName } from '../resource/type-registry.ts';

export type ParsedKri = {
  readonly type: string;
  /** The KRI without its section; of a Mesh the whole. */
  readonly base: string;
  readonly section: string;
};

/** The parts of the KRI of a resource in the mesh; null for an invalid KRI or another mesh. */
export function parseKri(text: string, mesh: string): ParsedKri | null {
  const short = /^kri_([a-z]+)_/.exec(text)?.[1];
  const info = short === undefined ? undefined : findTypeByAnyName(short);
  if (short === undefined || info?.shortName !== short) return null;
  if (info.name === 'Mesh') return text === `kri_m____${mesh}_` ? { type: 'Mesh', base: text, section: '' } : null;
  const head = `kri_${short}_${mesh}_`;
  if (!text.startsWith(head)) return null;
  const [zone, namespace, name, ...section] = text.slice(head.length).split('_');
  if (name === undefined || section.length === 0) return null;
  return { type: info.name, base: `${head}${zone ?? ''}_${namespace ?? ''}_${name}_`, section: section.join('_') };
}
