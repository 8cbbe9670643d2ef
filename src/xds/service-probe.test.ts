import { describe, expect, it } from 'vitest';
import { fc } from '../../test/support/property.ts';
import { objectOf, objectsOf } from '../resource/read-json.ts';
import type { JsonObject, Labels } from '../resource/types.ts';
import { envoyJsonToBinary } from '../wire/json-to-binary.ts';
import type { ApplicationProbe } from './default-probe.ts';
import { firstAnswerMs, healthCheckSpecifier, keepHealth, withHealth, type Probed } from './service-probe.ts';

const ADMIN = 'system_envoy_admin';
const APPLICATION = 'localhost:18081';
const probe = { interval: '2s', timeout: '1s', unhealthyThreshold: 2, healthyThreshold: 1, tcp: {} };
const probed = { name: 'http', port: 8080, serviceAddress: '127.0.0.1', servicePort: 18_081, serviceProbe: probe };
const plain = { name: 'other', port: 8081 };

function spec(...inbound: JsonObject[]): JsonObject {
  return { networking: { address: '127.1.0.2', inbound } };
}

/** @param applications left out: only written probes */
function given(of: JsonObject, applications: ApplicationProbe | null = null, labels: Labels = {}): Probed {
  return { spec: of, labels, applications };
}

function states(after: JsonObject): unknown[] {
  return objectsOf(objectOf(after['networking'])['inbound']).map(({ state, health }) => [state, health]);
}

const unready = ['NotReady', { ready: false }];
const ready = [undefined, undefined];

describe('healthCheckSpecifier', () => {
  it('probes Envoy and each inbound with a probe, as recorded', () => {
    const check = healthCheckSpecifier(given(spec(probed, plain)), '/run/admin.sock', 5_000);
    expect(check).toEqual({
      clusterHealthChecks: [
        {
          clusterName: ADMIN,
          healthChecks: [
            {
              ...{ timeout: '2s', interval: '1s', unhealthyThreshold: 1, healthyThreshold: 1, noTrafficInterval: '1s' },
              httpHealthCheck: { path: '/ready' },
            },
          ],
          localityEndpoints: [{ endpoints: [{ address: { pipe: { path: '/run/admin.sock' } } }] }],
        },
        {
          clusterName: APPLICATION,
          healthChecks: [
            {
              ...{ timeout: '1s', interval: '2s', unhealthyThreshold: 2, healthyThreshold: 1, noTrafficInterval: '2s' },
              tcpHealthCheck: {},
            },
          ],
          localityEndpoints: [{ endpoints: [{ address: { socketAddress: { address: '127.0.0.1', portValue: 18_081 } } }] }],
        },
      ],
      interval: '2s',
    });
    // Two failures of 1 s, 2 s between them, and the report.
    expect(firstAnswerMs(check)).toBe(6_000);
  });

  const applications = { interval: 2_000, timeout: 1_000, unhealthyThreshold: 3 };
  const web = { name: 'web', port: 80, servicePort: 8080, protocol: 'http' };
  const clustersOf = (dataplane: Probed): unknown[] =>
    objectsOf(healthCheckSpecifier(dataplane, null, 5_000)['clusterHealthChecks']).map(({ clusterName }) => clusterName);

  it('probes an application of HTTP by default: soon again after a failure, and while it is away', () => {
    const check = healthCheckSpecifier(given(spec(web), applications), null, 5_000);
    expect(check).toEqual({
      clusterHealthChecks: [
        {
          clusterName: '127.1.0.2:8080',
          healthChecks: [
            {
              ...{ timeout: '1s', interval: '2s', unhealthyThreshold: 3, healthyThreshold: 1, noTrafficInterval: '2s' },
              ...{ unhealthyEdgeInterval: '0.500s', unhealthyInterval: '1s' },
              tcpHealthCheck: {},
            },
          ],
          localityEndpoints: [{ endpoints: [{ address: { socketAddress: { address: '127.1.0.2', portValue: 8080 } } }] }],
        },
      ],
      interval: '2s',
    });
    expect(firstAnswerMs(check)).toBe(6_000);
    expect(() => envoyJsonToBinary('envoy.service.health.v3.HealthCheckSpecifier', check)).not.toThrow();
  });

  it('probes a redirected application from the address whose connections are not redirected again', () => {
    const dataplane = spec({ ...web, servicePort: 80 });
    const networking = { ...objectOf(dataplane['networking']), transparentProxying: { redirectPortInbound: 15_006 } };
    const [check] = objectsOf(healthCheckSpecifier(given({ networking }, applications), null, 5_000)['clusterHealthChecks']);
    expect(check).toMatchObject({ upstreamBindConfig: { sourceAddress: { address: '127.0.0.6' } } });
    expect(() => envoyJsonToBinary('envoy.service.health.v3.ClusterHealthCheck', check ?? {})).not.toThrow();
  });

  it.each<[why: string, dataplane: Probed]>([
    ['the zone says so', given(spec(web))],
    ['a label names the inbound', given(spec(web), applications, { 'probe.meridian.io/web': 'disabled' })],
    ['a label has its port', given(spec(web), applications, { 'probe.meridian.io/80': 'disabled' })],
    ['it is of TCP', given(spec({ ...web, protocol: 'tcp' }), applications)],
    ['it has no protocol', given(spec({ port: 80, servicePort: 8080 }), applications)],
    ['its own listener would answer', given(spec({ ...web, servicePort: 80 }), applications)],
    ['it is ignored', given(spec({ ...web, state: 'Ignored' }), applications)],
    ['its address is none', given(spec({ ...web, serviceAddress: 'a.example' }), applications)],
  ])('probes no application by default where %s', (_, dataplane) => {
    expect(clustersOf(dataplane)).toEqual([]);
  });

  it('prefers the written probe, which no label switches off', () => {
    const dataplane = given(spec({ ...web, serviceProbe: probe }), applications, { 'probe.meridian.io/web': 'disabled' });
    expect(clustersOf(dataplane)).toEqual(['127.1.0.2:8080']);
  });

  it('is a message of Envoy, with a bounded interval, for any probe', () => {
    const seconds = fc.integer({ min: 1, max: 1e9 }).map((nanoseconds) => `${(nanoseconds / 1e9).toFixed(9)}s`);
    const inbound = fc.record({
      port: fc.integer({ min: 0, max: 70_000 }),
      serviceAddress: fc.constantFrom('127.0.0.1', '::1', 'not an address'),
      serviceProbe: fc.record({ interval: seconds, timeout: seconds, unhealthyThreshold: fc.nat(10) }, { requiredKeys: [] }),
    });
    fc.assert(
      fc.property(fc.array(inbound), (inbounds) => {
        const check = healthCheckSpecifier(given(spec(...inbounds)), null, 5_000);
        expect(() => envoyJsonToBinary('envoy.service.health.v3.HealthCheckSpecifier', check)).not.toThrow();
        expect(Number.parseFloat(String(check['interval']))).toBeGreaterThanOrEqual(1);
        expect(Number.parseFloat(String(check['interval']))).toBeLessThanOrEqual(5);
      }),
    );
  });
});

describe('withHealth', () => {
  const up = new Map([
    [ADMIN, true],
    [APPLICATION, true],
  ]);

  it('makes the inbounds of an unhealthy application not ready, and ready again', () => {
    const before = spec(probed, plain);
    const down = withHealth(given(before), new Map([...up, [APPLICATION, false]]));
    expect(states(down)).toEqual([unready, ready]);
    expect(withHealth(given(down), up)).toEqual(before);
  });

  it('makes all inbounds not ready while Envoy is not', () => {
    const before = spec(probed, plain);
    const down = withHealth(given(before), new Map([...up, [ADMIN, false]]));
    expect(states(down)).toEqual([unready, unready]);
    expect(withHealth(given(down), up)).toEqual(before);
  });

  const inbound = fc.record(
    {
      port: fc.constantFrom(1, 2),
      serviceProbe: fc.constant({}),
      state: fc.constantFrom('Ready', 'NotReady', 'Ignored'),
      health: fc.constantFrom({}, { ready: false }, { ready: true }),
    },
    { requiredKeys: ['port'] },
  ) as fc.Arbitrary<JsonObject>;
  const health = fc
    .array(fc.tuple(fc.constantFrom(ADMIN, '127.1.0.2:1', '127.1.0.2:2'), fc.boolean()))
    .map((entries) => new Map(entries));

  it('touches no inbound that is ignored or that others made not ready, and says the same twice', () => {
    fc.assert(
      fc.property(fc.array(inbound), health, (inbounds, report) => {
        const before = spec(...inbounds);
        const after = withHealth(given(before), report);
        expect(withHealth(given(after), report)).toBe(after);
        objectsOf(objectOf(after['networking'])['inbound']).forEach((one, at) => {
          const was = inbounds[at];
          if (was?.['state'] === 'Ignored' || (was?.['state'] === 'NotReady' && was['health'] === undefined))
            expect(one).toEqual(was);
        });
        if (report.size === 0) expect(after).toBe(before);
      }),
    );
  });

  it('is kept when the proxy brings its Dataplane again', () => {
    fc.assert(
      fc.property(fc.array(inbound), health, (inbounds, report) => {
        const brought = spec(
          ...inbounds.map((one, port) => ({ port, ...(one['serviceProbe'] !== undefined && { serviceProbe: {} }) })),
        );
        const stored = withHealth(given(brought), report);
        expect(keepHealth(brought, stored)).toEqual(stored);
      }),
    );
  });
});
