// The SPIFFE ID of a proxy: that of the one MeshIdentity which is chosen for it, as in Kuma.
import { compareText } from '../base/compare-text.ts';
import { label } from '../resource/labels.ts';
import { parseMeshIdentity, selectsProxy, spiffeIdOf } from '../resource/mesh-identity.ts';
import type { DataplaneProxy } from './dataplane-proxy.ts';
import type { MeshIndex } from './mesh-index.ts';

/**
 * Of the MeshIdentities of its zone that are ready and select the proxy, the one with the most labels is chosen, then the first by
 * name. Null without an identity, or if its templates need a value that the proxy lacks.
 */
export function proxySpiffeId(index: MeshIndex, { labels, zone }: DataplaneProxy): string | null {
  const [chosen] = [...index.resources('MeshIdentity')]
    .filter((row) => (row.labels[label.zone] ?? zone) === zone)
    .map((row) => ({ name: row.name, identity: parseMeshIdentity(row) }))
    .filter(({ identity }) => selectsProxy(identity, labels))
    .map(({ name, identity }) => ({ name, identity, size: Object.keys(identity.matchLabels ?? {}).length }))
    .toSorted((a, b) => b.size - a.size || compareText(a.name, b.name));
  return chosen === undefined ? null : spiffeIdOf(chosen.identity, labels, index.mesh, zone);
}
