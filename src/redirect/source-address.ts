// The address of lo from which a proxy calls the application of its machine by IPv6. All of 127.0.0.0/8 are addresses of lo; of IPv6 only `::1`
// is, so this one is added with a redirection, and goes with it. kumactl adds the same.
import { MeridianError } from '../base/errors.ts';
import { OWN_SOURCE } from './rules.ts';
import { runProgram } from './run-program.ts';

const DEVICE = ['dev', 'lo'] as const;

/** The command that adds the address. */
export const ADD_SOURCE = ['ip', '-6', 'address', 'add', OWN_SOURCE[6], ...DEVICE] as const;

/** The line of a state that says what is missing. */
export const SOURCE_LINE = `address ${OWN_SOURCE[6]} of lo`;

/** Whether lo has the address. @throws MeridianError `config` with the reason of `ip` */
export async function hasSource(): Promise<boolean> {
  return (await ip('-o', '-6', 'address', 'show', ...DEVICE)).includes(` ${OWN_SOURCE[6]} `);
}

/** @throws MeridianError `config` with the reason of `ip` */
export async function addSource(): Promise<void> {
  if (!(await hasSource())) await ip(...ADD_SOURCE.slice(1));
}

/** @throws MeridianError `config` with the reason of `ip` */
export async function removeSource(): Promise<void> {
  if (await hasSource()) await ip('-6', 'address', 'del', OWN_SOURCE[6], ...DEVICE);
}

async function ip(...args: readonly string[]): Promise<string> {
  const ended = await runProgram('ip', args);
  if (ended?.code === 0) return ended.stdout;
  const said = ended === null ? 'there is no such program on this machine; install iproute2' : ended.stderr.trim();
  throw new MeridianError('config', `ip ${args.join(' ')}: ${said}`);
}
