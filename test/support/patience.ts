// How long tests wait for a condition that names no time of its own: vitest gives up after a second, which a busy machine takes for
// nothing. A setup file of every project.
import { vi } from 'vitest';
import { WAIT } from './wait.ts';

type WaitFor = typeof vi.waitFor;
const patient = Symbol.for('meridian.patient');

// A worker may run this once for each file, with one `vi`.
if (!(patient in vi.waitFor)) {
  const impatient = vi.waitFor.bind(vi);
  const waitFor: WaitFor = (callback, options = WAIT) => impatient(callback, options);
  vi.waitFor = Object.assign(waitFor, { [patient]: true });
}
