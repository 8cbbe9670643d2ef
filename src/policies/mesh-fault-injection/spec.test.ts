// MeshFaultInjection: good and bad confs (policies 2.6).
import { describe, expect, it } from 'vitest';
import { findIn, NOTHING_FOUND, type Found } from '../../validation/spec-table.fixture.ts';

const TYPE = 'MeshFaultInjection';
const inRules = (conf: string, more = '', type = TYPE): Found =>
  findIn(type, `targetRef: { kind: Dataplane }\nrules: [{ default: ${conf}${more} }]`);
const violation = (line: string): Found => ({ violations: [line], warnings: [] });
const PERCENT = 'must be a whole number or a decimal in quotes such as "12.5", from 0 to 100';

describe('MeshFaultInjection', () => {
  it('takes all three faults', () => {
    const conf =
      '{ http: [{ abort: { httpStatus: 503, percentage: "0.5" }, delay: { value: 5s, percentage: 10 }, responseBandwidth: { limit: 50Mbps, percentage: 100 } }, { responseBandwidth: { limit: 1 kbps, percentage: 0 } }] }';
    expect(inRules(conf, ', matches: [{ sni: { type: Exact, value: a } }]')).toEqual(NOTHING_FOUND);
  });

  it.each([
    ['{ abort: { httpStatus: 600, percentage: 1 } }', 'abort.httpStatus: must be a whole number from 200 to 599'],
    ['{ abort: { httpStatus: 500, percentage: 1.5 } }', `abort.percentage: ${PERCENT}`],
    ['{ delay: { percentage: 1 } }', 'delay.value: must be given: a duration such as "10s" or "1m30s", greater than 0'],
    [
      '{ responseBandwidth: { limit: 50mbit, percentage: 1 } }',
      'responseBandwidth.limit: must be a number over 0 with kbps, Mbps or Gbps, such as "50Mbps"',
    ],
  ])('may not have %s', (fault, line) => {
    expect(inRules(`{ http: [${fault}] }`)).toEqual(violation(`spec.rules[0].default.http[0].${line}`));
  });
});
