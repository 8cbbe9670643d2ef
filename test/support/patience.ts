// The default timeout of conditions in tests. The default of vitest is a second, too short on a busy machine. A setup file of every
// project.
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
