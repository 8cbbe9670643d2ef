// MeshLoadBalancingStrategy (policies 2.3, 5; MADR 075): how requests are spread. Balancers belong to clusters, hash policies to
// routes: `default.hashPolicies` is their place, the nested lists are the old one.
import { z } from 'zod';
import type { JsonObject } from '../../resource/types.ts';
import type { Findings } from '../../schema/findings.ts';
import { at, isSet, items } from '../../resource/json-access.ts';
import {
  checkFrame,
  ROUTE_ADVICE,
  proxyOrRouteRef,
  routeLimits,
  toItems,
  type PolicyDocument,
} from '../../schema/policy-frame.ts';
import { choice, count, duration, flag, integer, intOrDecimal, oneLine, pattern, text } from '../../schema/spec-fields.ts';
import { needsObjectOfType, withRules } from '../../schema/spec-rules.ts';
import { child } from '../../resource/spec-path.ts';
import { ROUTE_KINDS } from '../../schema/target-ref.ts';
import { SERVICE_TYPES } from '../../resource/type-registry.ts';

const hashPolicy = withRules(
  z.object({
    type: choice('Header', 'Cookie', 'Connection', 'QueryParameter', 'FilterState', 'SourceIP').describe(
      'What of a request is hashed. SourceIP is deprecated: use Connection.',
    ),
    terminal: flag().describe('Whether later hash policies are left out once this one gave a hash.').optional(),
    header: z
      .object({ name: oneLine(1).describe('The header of the request that is hashed.') })
      .describe('Hashes the value of a header.')
      .optional(),
    cookie: z
      .object({
        name: text().describe('The cookie that is hashed.'),
        ttl: duration()
          .describe('Life of the cookie that a client without one gets; 0 = until the browser ends. Without it none is made.')
          .optional(),
        path: pattern(/^\//, 'an absolute path').describe('Path of the cookie that is made.').optional(),
      })
      .describe('Hashes the value of a cookie, which the proxy can make.')
      .optional(),
    connection: z
      .object({ sourceIP: flag().describe('Whether the IP address is hashed. False if not set: there is no hash.').optional() })
      .describe('Hashes the IP address of the client.')
      .optional(),
    queryParameter: z
      .object({ name: text().describe('The parameter that is hashed.') })
      .describe('Hashes a parameter of the query.')
      .optional(),
    filterState: z
      .object({ key: text().describe('Key in the filter state of Envoy.') })
      .describe('Hashes what a filter of Envoy noted of the request.')
      .optional(),
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
const hashPolicies = (about: string) => z.array(hashPolicy).describe(about).optional();
const NESTED = 'Deprecated: use default.hashPolicies.';

const loadBalancer = z.object({
  type: choice('RoundRobin', 'LeastRequest', 'RingHash', 'Random', 'Maglev').describe(
    'How an endpoint is chosen: in turn, by fewest requests, by the hash of the request (RingHash, Maglev), or at random.',
  ),
  roundRobin: z.object({}).describe('Has no fields.').optional(),
  random: z.object({}).describe('Has no fields.').optional(),
  leastRequest: z
    .object({
      choiceCount: count(2).describe('How many endpoints, taken at random, are compared. 2 if not set.').optional(),
      activeRequestBias: intOrDecimal('not negative', (value) => value >= 0)
        .describe('How much running requests lower the weight of an endpoint; 0 = not at all. 1 if not set.')
        .optional(),
    })
    .describe('For type LeastRequest.')
    .optional(),
  ringHash: withRules(
    z.object({
      hashFunction: choice('XXHash', 'MurmurHash2')
        .describe('The function that places endpoints on the ring. XXHash if not set.')
        .optional(),
      minRingSize: integer(1, 8_000_000).describe('Fewest places on the ring. 1024 if not set.').optional(),
      maxRingSize: integer(1, 8_000_000).describe('Most places on the ring. 8388608 if not set.').optional(),
      hashPolicies: hashPolicies(NESTED),
    }),
    ringSizes,
  )
    .describe('For type RingHash: a ring of places, of which an endpoint has many.')
    .optional(),
  maglev: z
    .object({
      tableSize: integer(1, 5_000_011).describe('Rows of the table; the next prime number counts. 65537 if not set.').optional(),
      hashPolicies: hashPolicies(NESTED),
    })
    .describe('For type Maglev: a table in which all endpoints have equal shares.')
    .optional(),
});

const affinityTag = z.object({
  key: text().describe('Key of a label of Dataplanes, such as rack.'),
  weight: count(1)
    .describe('Share against the other tags and the rest, which has 1. On all tags or on none: … 900, 90, 9 if not set.')
    .optional(),
});
const zones = (about: string) => z.array(text('the name of a zone')).describe(about);

const failoverTo = withRules(
  z.object({
    type: choice('None', 'Only', 'Any', 'AnyExcept').describe(
      'Whether no zone, the named ones, all, or all but the named ones take over.',
    ),
    zones: zones('Names of zones. For types Only and AnyExcept.').optional(),
  }),
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
  disabled: flag().describe('True: requests go to the endpoints of all zones alike. False if not set.').optional(),
  localZone: withRules(
    z.object({
      affinityTags: z
        .array(affinityTag)
        .describe(
          'Labels by which endpoints are near the client: those with the value that the client has. The first counts most.',
        )
        .optional(),
    }),
    allWeightsOrNone,
  )
    .describe('How requests are spread in the zone of the client.')
    .optional(),
  crossZone: z
    .object({
      failover: z
        .array(
          z.object({
            from: z
              .object({ zones: zones('Names of the zones of the clients.').min(1) })
              .describe('The clients of the rule. All if not set.')
              .optional(),
            to: failoverTo.describe('The zones that take over for them.'),
          }),
        )
        .describe('Which zones take over, in this order. None if not set.')
        .optional(),
      failoverThreshold: z
        .object({
          percentage: intOrDecimal('over 0 and at most 100', (value) => value > 0 && value <= 100).describe(
            'Healthy endpoints of the zone in percent.',
          ),
        })
        .describe('Share of healthy endpoints below which the next zone is used. 50 if not set.')
        .optional(),
    })
    .describe('What happens when the endpoints in the zone of the client fail.')
    .optional(),
});

const conf = withRules(
  z.object({
    hashPolicies: hashPolicies('What of a request decides its endpoint, for RingHash and Maglev. An empty list switches it off.'),
    loadBalancer: loadBalancer.describe('How an endpoint is chosen. In turn if not set.').optional(),
    localityAwareness: localityAwareness
      .describe(
        'Which endpoints are preferred. Those in the zone of the client if not set; other zones take over when they fail.',
      )
      .optional(),
  }),
  checkHashPolicyPlaces,
).describe('How requests are spread over the endpoints of a service.');

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

/** The nested lists are deprecated, and never stand beside the new one in one `default` (MADR 075, D16). */
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
