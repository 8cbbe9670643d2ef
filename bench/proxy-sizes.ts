// How many proxies call how many services, and how often something changes.
import type { SettingsOf } from './context.ts';
import type { Judged } from './report.ts';

export const sizes = {
  proxies: [1_000, 'fake proxies, each of which calls every service'],
  services: [200, 'MeshServices, with the proxies spread evenly behind them'],
  processes: [1, 'processes that the fake proxies are spread over; the machine of the budgets has a core for them'],
  warmUp: [10, 'changes of each kind before the counted ones'],
  changes: [40, 'counted changes of each kind, one after the other'],
  idle: [10, 'seconds in which nothing happens'],
} as const;

export type ProxySizes = SettingsOf<typeof sizes>;

/** For 1,000 proxies × 200 services on two cores, the proxies included. */
export const proxyBudgets = {
  routeCpuMs: { most: 150 },
  routeLastMs: { most: 300 },
  endpointCpuMs: { most: 100 },
  memoryKb: { most: 150 },
  idleCpuPercent: { most: 1 },
  joinSeconds: { most: 5 },
  sentAgain: { most: 0 },
  redirectedMemoryKb: { most: 200 },
  redirectedEndpoint: { most: 1.3 },
  redirectedServiceMs: { most: 500 },
  zoneP50Ms: { most: 15 },
  zoneP99Ms: { most: 50 },
  globalP50Ms: { most: 25 },
  globalP99Ms: { most: 80 },
  farEndpointP50Ms: { most: 40 },
  closed: { most: 0 },
  certificateCpuMs: { most: 5 },
  renewalCpuPercent: { most: 2 },
  sameReportCpuUs: { most: 30 },
  changingReportCpuUs: { most: 150 },
} as const;

/** The budgets of other sections than the fleet are for one thing. */
export const judged: Judged<ProxySizes> = {
  sizes: '1,000 proxies × 200 services',
  by: ({ section }, { proxies, services }) =>
    (section !== 'fleet' && section !== 'redirected') || (proxies >= sizes.proxies[0] && services >= sizes.services[0]),
};
