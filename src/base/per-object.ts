// Remembers the result of a pure function for each object, as long as the object lives. Invariant: such an object never changes.

/** @param make pure; its result depends on the object alone */
export function perObject<K extends object, T>(make: (of: K) => T): (of: K) => T {
  const known = new WeakMap<K, { readonly result: T }>();
  return (of) => {
    let kept = known.get(of);
    if (kept === undefined) known.set(of, (kept = { result: make(of) }));
    return kept.result;
  };
}
