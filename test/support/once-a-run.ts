// What all projects of a run share. Each project runs its global set-up with modules of its own, one project after the other, in the
// process of the run.
const key = Symbol.for('meridian.once-a-run');
const holder = globalThis as { [key]?: Map<string, unknown> };

type Made<T> = { readonly value: T; readonly end: () => Promise<void> };

/**
 * Makes a value for the first project that asks, and gives it to the others.
 * @returns the value, and what the caller does at the end of the run: only the first project calls `end`
 */
export async function onceARun<T>(name: string, make: () => Promise<Made<T>>): Promise<Made<T>> {
  const known = (holder[key] ??= new Map<string, unknown>());
  if (known.has(name)) return { value: known.get(name) as T, end: async () => undefined };
  const { value, end } = await make();
  known.set(name, value);
  const endOfRun = async (): Promise<void> => {
    known.delete(name);
    await end();
  };
  return { value, end: endOfRun };
}
