// Keeps a zone from being emptied by a wrong global (engine 14): the first cluster id it hears is remembered, and a global that
// offers another one is not obeyed until a person says so.

/**
 * What a zone thinks of the global that offers a cluster id (Config `kuma-cluster-id`).
 * `first`: none is known, remember it and go on; `same`: go on; `other`: stop, say so, store and prune nothing.
 * @param known the id that came from a global before, null if none did; the id a zone on its own made for itself does not count
 * @param offered the id of this global; an empty one is `other` wherever one is known
 */
export function decideCluster(known: string | null, offered: string): 'first' | 'same' | 'other' {
  if (known === null || known === '') return 'first';
  return known === offered ? 'same' : 'other';
}
