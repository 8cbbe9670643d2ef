// MeshLoadBalancingStrategy (policies 2.3, 5; MADR 075): how requests are spread. Balancers belong to clusters, hash policies to
// routes: `default.hashPolicies` is their place, the nested lists are the old one.
import { z } from 'zod';
import type { JsonObject } from '../types.ts';
import type { Findings } from './findings.ts';
import { at, isSet, items } from './json-access.ts';
import { checkFrame, ROUTE_ADVICE, proxyOrRouteRef, routeLimits, toItems, type PolicyDocument } from './policy-frame.ts';
import { choice, count, duration, flag, integer, intOrDecimal, oneLine, pattern, text } from './spec-fields.ts';
import { needsObjectOfType, withRules } from './spec-rules.ts';
import { child } from './spec-path.ts';
import { ROUTE_KINDS } from './target-ref.ts';
import { SERVICE_TYPES } from '../type-registry.ts';

const hashPolicy = withRules(
  z.object({
    type: choice('Header', 'Cookie', 'Connection', 'QueryParameter', 'FilterState', 'SourceIP'),
    terminal: flag().describe('Whether later hash policies are left out once this one gave a hash.').optional(),
    header: z.object({ name: oneLine(1) }).optional(),
    cookie: z
      .object({ name: text(), ttl: duration().optional(), path: pattern(/^\//, 'an absolute path').optional() })
      .optional(),
    connection: z.object({ sourceIP: flag().optional() }).optional(),
    queryParameter: z.object({ name: text() }).optional(),
    filterState: z.object({ key: text() }).optional(),
  }),
  needsObjectOfType({
    Header: 'header',
    Cookie: 'cookie',
    Connection: 'connection',
    QueryParameter: 'queryParameter',
    FilterState: 'filterState',
  }),
  (policy, path, findings) => {
    if (policy['type'] === 'SourceIP') findings.warning(child(path, 'type'), 'SourceIP is deprecated: use Connection');
  },
);
const hashPolicies = () => z.array(hashPolicy).optional();

const loadBalancer = z.object({
  type: choice('RoundRobin', 'LeastRequest', 'RingHash', 'Random', 'Maglev'),
  roundRobin: z.object({}).optional(),
  random: z.object({}).optional(),
  leastRequest: z
    .object({
      choiceCount: count(2).optional(),
      activeRequestBias: intOrDecimal('not negative', (value) => value >= 0).optional(),
    })
    .optional(),
  ringHash: withRules(
    z.object({
      hashFunction: choice('XXHash', 'MurmurHash2').optional(),
      minRingSize: integer(1, 8_000_000).optional(),
      maxRingSize: integer(1, 8_000_000).optional(),
      hashPolicies: hashPolicies(),
    }),
    ringSizes,
  ).optional(),
  maglev: z.object({ tableSize: integer(1, 5_000_011).optional(), hashPolicies: hashPolicies() }).optional(),
});

const affinityTag = z.object({ key: text(), weight: count(1).optional() });
const zones = () => z.array(text('the name of a zone'));

const failoverTo = withRules(
  z.object({ type: choice('None', 'Only', 'Any', 'AnyExcept'), zones: zones().optional() }),
  (to, path, findings) => {
    const type = to['type'];
    const hasZones = items(to['zones']).length > 0;
    if ((type === 'Any' || type === 'None') && hasZones)
      findings.violation(child(path, 'zones'), `must be empty with type ${type}`);
    if ((type === 'Only' || type === 'AnyExcept') && !hasZones)
      findings.violation(child(path, 'zones'), `must have at least one zone with type ${type}`);
  },
);

const localityAwareness = z.object({
  disabled: flag().optional(),
  localZone: withRules(z.object({ affinityTags: z.array(affinityTag).optional() }), allWeightsOrNone).optional(),
  crossZone: z
    .object({
      failover: z.array(z.object({ from: z.object({ zones: zones().min(1) }).optional(), to: failoverTo })).optional(),
      failoverThreshold: z
        .object({ percentage: intOrDecimal('over 0 and at most 100', (value) => value > 0 && value <= 100) })
        .describe('Share of healthy endpoints below which the next zone is used. 50 if not set.')
        .optional(),
    })
    .optional(),
});

const conf = withRules(
  z.object({
    hashPolicies: hashPolicies(),
    loadBalancer: loadBalancer.optional(),
    localityAwareness: localityAwareness.optional(),
  }),
  checkHashPolicyPlaces,
);

const onRoutes = routeLimits({
  MeshHTTPRoute: { refused: ['loadBalancer', 'localityAwareness'], allowed: 'hashPolicies' },
  MeshTCPRoute: { refused: ['loadBalancer', 'localityAwareness'], allowed: 'hashPolicies of type Connection' },
});

export const meshLoadBalancingStrategySpec = z.object({
  targetRef: proxyOrRouteRef(),
  to: toItems(['Mesh', ...SERVICE_TYPES, ...ROUTE_KINDS], conf.optional(), onRoutes, connectionOnTcp, wholeServiceForCrossZone),
});

export function checkMeshLoadBalancingStrategy(spec: JsonObject, document: PolicyDocument, findings: Findings): void {
  checkFrame({ routeAdvice: ROUTE_ADVICE }, spec, document, findings);
}

function ringSizes({ minRingSize, maxRingSize }: JsonObject, path: string, findings: Findings): void {
  if (typeof minRingSize === 'number' && typeof maxRingSize === 'number' && minRingSize > maxRingSize)
    findings.violation(child(path, 'minRingSize'), 'must not be greater than maxRingSize');
}

/** MADR 075: the nested lists are deprecated, and never stand beside the new one in one `default` (D16). */
function checkHashPolicyPlaces(value: JsonObject, path: string, findings: Findings): void {
  for (const balancer of ['ringHash', 'maglev']) {
    const nested = `loadBalancer.${balancer}.hashPolicies`;
    if (at(value, nested) === undefined) continue;
    if (value['hashPolicies'] !== undefined)
      findings.violation(
        `${path}.${nested}`,
        'must not be set beside default.hashPolicies, which takes precedence: keep the latter',
      );
    else findings.warning(`${path}.${nested}`, 'is deprecated: use default.hashPolicies');
  }
}

/** On TCP there is only the connection to hash by (D11). */
function connectionOnTcp(item: JsonObject, path: string, findings: Findings): void {
  if (at(item, 'targetRef.kind') !== 'MeshTCPRoute') return;
  for (const [index, policy] of items(at(item, 'default.hashPolicies')).entries()) {
    const type = at(policy, 'type');
    if (type !== undefined && type !== 'Connection')
      findings.violation(`${path}.default.hashPolicies[${index}].type`, 'must be Connection for a MeshTCPRoute');
  }
}

function wholeServiceForCrossZone(item: JsonObject, path: string, findings: Findings): void {
  if (at(item, 'targetRef.kind') !== 'MeshService' || at(item, 'default.localityAwareness.crossZone') === undefined) return;
  for (const field of ['labels', 'sectionName']) {
    if (isSet(at(item, `targetRef.${field}`)))
      findings.violation(`${path}.default.localityAwareness.crossZone`, `must not be set for a MeshService with ${field}`);
  }
}

function allWeightsOrNone(localZone: JsonObject, path: string, findings: Findings): void {
  const tags = items(localZone['affinityTags']);
  const without = tags.flatMap((tag, index) => (at(tag, 'weight') === undefined ? [index] : []));
  if (without.length === 0 || without.length === tags.length) return;
  for (const index of without)
    findings.violation(`${path}.affinityTags[${index}].weight`, 'must be given: either all affinity tags have a weight or none');
}
