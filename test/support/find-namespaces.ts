// Whether tests can make network namespaces on this machine.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** What the tests start: iproute2, iptables, nftables and util-linux. */
const PROGRAMS = ['ip', 'iptables', 'nft', 'setpriv'];

/** Null where they can; otherwise the reason in one line. */
export async function whyNoNamespaces(): Promise<string | null> {
  if (process.platform !== 'linux') return 'they need Linux';
  if (process.getuid?.() !== 0) return 'they need root';
  for (const program of PROGRAMS)
    if (!(await succeeds(program, '--version')) && !(await succeeds(program, '-V')))
      return `${program} is missing (Debian: iproute2, iptables, nftables, util-linux)`;
  const name = `meridian-probe-${String(process.pid)}`;
  if (!(await succeeds('ip', 'netns', 'add', name))) return 'the kernel, or the container of this process, permits none';
  const hasLinks = await succeeds('ip', '-n', name, 'link', 'add', 'probe', 'type', 'veth', 'peer', 'name', 'probe-peer');
  await succeeds('ip', 'netns', 'del', name);
  return hasLinks ? null : 'the kernel has no veth';
}

async function succeeds(program: string, ...args: readonly string[]): Promise<boolean> {
  return await run(program, args).then(
    () => true,
    () => false,
  );
}
