// Each fault of a MeshFaultInjection as a filter.
import { describe, expect, it } from 'vitest';
import { objectOf } from '../../resource/read-json.ts';
import type { InboundMatch } from '../../schema/inbound-match.ts';
import type { JsonObject } from '../../resource/types.ts';
import { clientPredicate } from '../../envoy/client-match.ts';
import { faultFilters } from './envoy.ts';
import type { UsableRule } from '../../xds/usable-policies.ts';

type Rule = UsableRule<'MeshFaultInjection'>;

const rule = (http: JsonObject[], match: InboundMatch | null = null, kri = 'kri_mfi'): Rule =>
  ({ match, conf: { http }, policy: { kri } }) as unknown as Rule;

/** The message HTTPFault of the only fault, without its type. */
function faultOf(fault: JsonObject): JsonObject {
  const [filter] = faultFilters([rule([fault])]);
  const config = objectOf(objectOf(filter?.['typedConfig'])['extensionConfig']);
  const { '@type': _, ...message } = objectOf(config['typedConfig']);
  return message;
}
const HALF = { numerator: 50 };

describe('a fault', () => {
  it.each<[what: string, fault: JsonObject, expected: JsonObject]>([
    ['nothing', {}, {}],
    ['an abort', { abort: { httpStatus: 503, percentage: 50 } }, { abort: { httpStatus: 503, percentage: HALF } }],
    ['a delay', { delay: { value: '5s', percentage: 50 } }, { delay: { fixedDelay: '5s', percentage: HALF } }],
    [
      'all of them',
      {
        abort: { httpStatus: 500, percentage: 50 },
        delay: { value: '1s', percentage: 50 },
        responseBandwidth: { limit: '1kbps', percentage: 50 },
      },
      {
        abort: { httpStatus: 500, percentage: HALF },
        delay: { fixedDelay: '1s', percentage: HALF },
        responseRateLimit: { fixedLimit: { limitKbps: '1' }, percentage: HALF },
      },
    ],
  ])('has %s', (_, fault, expected) => {
    expect(faultOf(fault)).toEqual(expected);
  });

  it.each([
    ['7kbps', '7'],
    ['7 kbps', '7'],
    ['50Mbps', '50000'],
    ['2Gbps', '2000000'],
    ['fast', '0'],
  ])('limits responses to %s with %s kilobits', (limit, limitKbps) => {
    expect(faultOf({ responseBandwidth: { limit, percentage: 50 } })).toMatchObject({
      responseRateLimit: { fixedLimit: { limitKbps } },
    });
  });
});

describe('the filters of an inbound', () => {
  it('are one for each fault, in the order of the rules, with the names of their policies', () => {
    const rules = [rule([{ abort: {} }, { delay: {} }], null, 'kri_a'), rule([], null, 'kri_b'), rule([{}], null, 'kri_c')];
    expect(faultFilters(rules).map(({ name }) => name)).toEqual(['kri_a', 'kri_a', 'kri_c']);
  });

  it('skip each client that does not fit the match of the rule', () => {
    const match: InboundMatch = { spiffeID: { type: 'Exact', value: 'spiffe://shop/web' } };
    const matcherOf = (of: InboundMatch | null): JsonObject =>
      objectOf(objectOf(faultFilters([rule([{}], of)])[0]?.['typedConfig'])['xdsMatcher']);
    expect(matcherOf(null)).toEqual({});
    expect(matcherOf(match)).toMatchObject({
      matcherList: { matchers: [{ predicate: { notMatcher: clientPredicate(match) }, onMatch: { action: { name: 'skip' } } }] },
    });
  });
});
