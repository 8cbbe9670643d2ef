// What the certificates of many proxies cost: a key and a signature for each, without their way to the proxy.
import { ProxyCertificates, type CertificateOrder } from '../src/ads/proxy-certificates.ts';
import { systemClock } from '../src/base/clock.ts';
import { createLogger } from '../src/base/log.ts';
import { createAuthority } from '../src/identity/authority.ts';
import { renewalOf } from '../src/identity/leaf.ts';
import { authorityRows } from '../src/reconcile/identities/plan-identity.ts';
import type { Context, Sections } from './context.ts';
import { cpuMs } from './measure.ts';
import { metricsOf, type Metric } from './metric.ts';
import { proxyBudgets, type ProxySizes } from './proxy-sizes.ts';

const MESH = 'bench';
/** A fiftieth of the usual life of a certificate. */
const LIFE_MS = 86_400_000 / 50;
const WARM_UP = 50;

export const certificates: Sections<ProxySizes> = {
  names: { certificates: 'certificates of all proxies: CPU of one, and of renewing all within a fiftieth of the usual life' },
  measure: measureCertificates,
};

async function measureCertificates({ settings, say }: Context<ProxySizes>): Promise<Metric[]> {
  const now = systemClock.now();
  const identity = { type: 'MeshIdentity', mesh: MESH, name: 'identity' };
  const rows = authorityRows(identity, await createAuthority(MESH, now), now);
  const issuer = new ProxyCertificates({
    store: { getMany: async () => Promise.resolve(rows) },
    clock: systemClock,
    log: createLogger('warn'),
    issued: () => undefined,
  });
  const issue = async (kind: string, count: number): Promise<number> => {
    const proxies = Array.from({ length: count }, (_, index) => ({ mesh: MESH, name: `${kind}-${String(index)}` }));
    const before = process.cpuUsage();
    await Promise.all(proxies.map(async (proxy) => issuer.ready(proxy, orderOf(proxy.name))));
    const used = cpuMs(process.cpuUsage(before));
    for (const proxy of proxies) issuer.release(proxy);
    return used;
  };
  say(`certificates of ${String(settings.proxies)} proxies`);
  await issue('warm-up', WARM_UP);
  const all = await issue('proxy', settings.proxies);
  const first = renewalOf({ issuedAt: new Date(0), notAfter: new Date(LIFE_MS) }, 0);
  const { certificateCpuMs, renewalCpuPercent } = proxyBudgets;
  const metric = metricsOf('certificates');
  return [
    metric('CPU for one certificate', 'ms', all / settings.proxies, { budget: certificateCpuMs }),
    metric('CPU of renewing all, in a life of 29 minutes', '%', (all / first) * 100, { budget: renewalCpuPercent }),
  ];
}

function orderOf(name: string): CertificateOrder {
  return { mesh: MESH, identity: 'identity', spiffeId: `spiffe://${MESH}/${name}`, authority: '', lifetimeMs: LIFE_MS };
}
