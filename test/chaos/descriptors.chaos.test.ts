// More HTTP/2 sessions without a stream on the KDS port than the process may have descriptors: REST and /ready still answer, and the
// server closes the sessions.
import { connect, type ClientHttp2Session } from 'node:http2';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { globalEnv } from '../support/control-plane-env.ts';
import { ControlPlane, WAIT } from '../support/control-plane.ts';
import { freePort } from '../support/free-port.ts';
import { cloneDatabase } from '../support/postgres-database.ts';
import { GuestZone } from './guest-zone.ts';

const SESSIONS = 2_000;
/** Sessions that are opened before REST is asked again. */
const AT_ONCE = 200;
/** The default of `connections.idleTimeout`, less what clocks may differ by. */
const IDLE_MS = 9_500;

/** A control plane that may open few descriptors. */
class FewDescriptors extends ControlPlane {
  descriptors = 1_024;

  protected override commandLine(): [string, ...string[]] {
    return ['sh', '-c', `ulimit -n ${String(this.descriptors)} && exec "$0" "$@"`, ...super.commandLine()];
  }
}

describe('a global with more sessions on its KDS port than its limit', () => {
  let started = new AsyncDisposableStack();

  beforeEach(() => void (started = new AsyncDisposableStack()));
  afterEach(() => started.disposeAsync());

  it.each([
    { name: 'descriptors', descriptors: 256, env: {}, most: 128 },
    {
      name: 'connections of an address',
      descriptors: 4_096,
      env: { MERIDIAN_MULTIZONE_GLOBAL_KDS_CONNECTIONS_PER_ADDRESS: '20' },
      most: 20,
    },
  ])('keeps as many sessions as $name allow, ends sessions without a stream, and serves REST and zones', async (limits) => {
    const kds = await freePort();
    const global = new FewDescriptors('global', await cloneDatabase(inject('postgresUrl')), await freePort(), {
      ...globalEnv(kds),
      MERIDIAN_DIAGNOSTICS_SERVER_PORT: String(await freePort()),
      ...limits.env,
    });
    global.descriptors = limits.descriptors;
    global.isQuiet = true;
    started.defer(async () => void (await global.end('SIGTERM')));
    global.start();
    await expect.poll(() => global.ready(), WAIT).toBe(200);

    /** The connections that global answers on, with the time of the dial. */
    const served = new Map<ClientHttp2Session, number>();
    const stayed: number[] = [];
    const sessions: ClientHttp2Session[] = [];
    started.defer(() => {
      for (const session of sessions) session.destroy();
    });
    let closed = 0;
    const open = (): void => {
      const session = connect(`http://127.0.0.1:${String(kds)}`);
      const dialledAt = performance.now();
      sessions.push(session);
      session.on('error', () => undefined);
      session.once('remoteSettings', () => served.set(session, dialledAt));
      session.once('close', () => {
        closed += 1;
        const since = served.get(session);
        if (since === undefined) return;
        served.delete(session);
        stayed.push(performance.now() - since);
      });
    };
    let mostServed = 0;
    while (sessions.length < SESSIONS) {
      for (let n = 0; n < AT_ONCE; n += 1) open();
      await expect.poll(() => closed + served.size, WAIT).toBe(sessions.length);
      mostServed = Math.max(mostServed, served.size);
      expect(await global.ready()).toBe(200);
      expect(await global.answers()).toBe(true);
    }
    expect(mostServed).toBeGreaterThan(0);
    expect(mostServed).toBeLessThanOrEqual(limits.most);
    await expect.poll(() => closed, WAIT).toBe(SESSIONS);
    expect(Math.min(...stayed)).toBeGreaterThan(IDLE_MS);
    const guest = GuestZone.join('east', 'acknowledges', `127.0.0.1:${String(kds)}`);
    started.defer(() => guest.leave());
    await expect.poll(() => guest.hasFirstStates, WAIT).toBe(true);
    global.assertRunning();
  });
});
