// The types in the API: the table of rest-api 2.1 and the answers computed from it (rest-api 1).
import { afterAll, describe, expect, it } from 'vitest';
import { TinyStore } from '../support/tiny-store.ts';
import { testApi } from './test-api.ts';

/** Name, path, scope, KRI short name. */
const TABLE = `Mesh meshes Global m
Zone zones Global z
GlobalSecret globalsecrets Global -
Secret secrets Mesh -
HostnameGenerator hostnamegenerators Global hg
Dataplane dataplanes Mesh dp
MeshService meshservices Mesh msvc
MeshMultiZoneService meshmultizoneservices Mesh mzsvc
MeshExternalService meshexternalservices Mesh extsvc
MeshIdentity meshidentities Mesh mid
MeshTrust meshtrusts Mesh mtrust
MeshOpenTelemetryBackend meshopentelemetrybackends Mesh motb
MeshZoneAddress meshzoneaddresses Mesh mza
Workload workloads Mesh wl
DataplaneInsight dataplane-insights Mesh -
ServiceInsight service-insights Mesh -
MeshInsight mesh-insights Global -
ZoneInsight zone-insights Global -
MeshAccessLog meshaccesslogs Mesh mal
MeshCircuitBreaker meshcircuitbreakers Mesh mcb
MeshFaultInjection meshfaultinjections Mesh mfi
MeshHTTPRoute meshhttproutes Mesh mhttpr
MeshHealthCheck meshhealthchecks Mesh mhc
MeshLoadBalancingStrategy meshloadbalancingstrategies Mesh mlbs
MeshMetric meshmetrics Mesh mm
MeshPassthrough meshpassthroughs Mesh mp
MeshProxyPatch meshproxypatches Mesh mpp
MeshRateLimit meshratelimits Mesh mrl
MeshRetry meshretries Mesh mr
MeshTCPRoute meshtcproutes Mesh mtcpr
MeshTLS meshtlses Mesh mtls
MeshTimeout meshtimeouts Mesh mt
MeshTrace meshtraces Mesh mtr
MeshTrafficPermission meshtrafficpermissions Mesh mtp`;

/** Singular and plural, sorted by type. */
const DISPLAY_NAMES = `Dataplane, Dataplanes
Dataplane Insight, Dataplane Insights
Global Secret, Global Secrets
Hostname Generator, Hostname Generators
Mesh, Meshes
Mesh Access Log, Mesh Access Logs
Mesh Circuit Breaker, Mesh Circuit Breakers
Mesh External Service, Mesh External Services
Mesh Fault Injection, Mesh Fault Injections
Mesh HTTP Route, Mesh HTTP Routes
Mesh Health Check, Mesh Health Checks
Mesh Identity, Mesh Identities
Mesh Insight, Mesh Insights
Mesh Load Balancing Strategy, Mesh Load Balancing Strategies
Mesh Metric, Mesh Metrics
Mesh Multi Zone Service, Mesh Multi Zone Services
Mesh OpenTelemetry Backend, Mesh OpenTelemetry Backends
Mesh Passthrough, Mesh Passthroughs
Mesh Proxy Patch, Mesh Proxy Patches
Mesh Rate Limit, Mesh Rate Limits
Mesh Retry, Mesh Retries
Mesh Service, Mesh Services
Mesh TCP Route, Mesh TCP Routes
Mesh TLS, Mesh TLSes
Mesh Timeout, Mesh Timeouts
Mesh Trace, Mesh Traces
Mesh Traffic Permission, Mesh Traffic Permissions
Mesh Trust, Mesh Trusts
Mesh Zone Address, Mesh Zone Addresses
Secret, Secrets
Service Insight, Service Insights
Workload, Workloads
Zone, Zones
Zone Insight, Zone Insights`;

type Shown = { name: string; path: string; scope: string; shortName: string; readOnly: boolean; includeInFederation: boolean };
const global = testApi(new TinyStore(), 'global');
const zone = testApi(new TinyStore(), 'zone');
const resourcesOf = async (app: typeof global): Promise<Shown[]> =>
  (await app.inject('/_resources')).json<{ resources: Shown[] }>().resources;
afterAll(async () => {
  await global.close();
  await zone.close();
});

describe('the types', () => {
  it('have the paths, scopes and short names of the table', async () => {
    const shown = await resourcesOf(global);
    for (const line of TABLE.split('\n')) {
      const [name = '', path = '', scope = '', short = ''] = line.split(' ');
      expect(
        shown.find((one) => one.name === name),
        name,
      ).toMatchObject({ path, scope, shortName: short === '-' ? '' : short });
    }
    expect(shown.map(({ name }) => name)).toEqual(shown.map(({ name }) => name).toSorted());
  });

  it('have the display names of Kuma', async () => {
    const shown = (await global.inject('/_resources')).json<{ resources: Record<string, string>[] }>().resources;
    const named = shown.map((one) => `${one['singularDisplayName'] ?? ''}, ${one['pluralDisplayName'] ?? ''}`);
    expect(named).toEqual(DISPLAY_NAMES.split('\n'));
  });

  it("do not include Meridian's own types, about which kumactl would warn", async () => {
    expect((await resourcesOf(global)).map(({ name }) => name)).not.toEqual(expect.arrayContaining(['HTTPRoute']));
    expect((await global.inject('/httproutes')).statusCode).toBe(200);
  });

  it('are all read-only on a zone with a global, and only insights on others', async () => {
    expect((await resourcesOf(zone)).every(({ readOnly }) => readOnly)).toBe(true);
    const written = (await resourcesOf(global)).filter(({ readOnly }) => !readOnly).map(({ name }) => name);
    expect(written).toContain('Dataplane');
    expect(written.filter((name) => name.endsWith('Insight'))).toEqual([]);
  });

  it('are marked as federated when they are synced to zones, except insights', async () => {
    const federated = (await resourcesOf(global)).filter((one) => one.includeInFederation).map(({ name }) => name);
    expect(federated).toEqual(expect.arrayContaining(['Mesh', 'Secret', 'GlobalSecret', 'MeshTimeout', 'HostnameGenerator']));
    for (const name of ['Dataplane', 'MeshService', 'Zone', 'ServiceInsight', 'Workload']) expect(federated).not.toContain(name);
  });

  it('have the sections of each policy', async () => {
    const answer = (await global.inject('/policies')).json<{ policies: { name: string }[] }>();
    expect(answer.policies).toHaveLength(16);
    expect(answer.policies.find(({ name }) => name === 'MeshTLS')).toEqual({
      name: 'MeshTLS',
      readOnly: false,
      path: 'meshtlses',
      singularDisplayName: 'Mesh TLS',
      pluralDisplayName: expect.any(String) as string,
      isExperimental: false,
      isTargetRefBased: true,
      isInbound: true,
      isOutbound: false,
    });
  });
});
