// Proxies with the same policies and routes share their rules.
import { beforeEach, describe, expect, it } from 'vitest';
import { makeService, makeTo } from '../../test/policy/make-resource.ts';
import type { Resource } from '../resource/types.ts';
import { MeshIndex } from './mesh-index.ts';
import { parsePolicy, type Policy } from './parse-policy.ts';
import { ToRulesOfType } from './to-rules.ts';

const NONE: ReadonlySet<string> = new Set();
const conf = { idleTimeout: '1s' };
let index: MeshIndex;
let serials: number;

beforeEach(() => {
  index = new MeshIndex('default', [makeService('cart', { zone: 'east' })]);
  serials = 0;
});

const policyOf = (name: string, to: Parameters<typeof makeTo>[2] = { kind: 'Mesh' }): Policy =>
  parsePolicy(makeTo('MeshTimeout', name, to, conf, { zone: 'east' }), (serials += 1));
const rulesOf = (...shared: Policy[]): ToRulesOfType => new ToRulesOfType(index, 'MeshTimeout', 'east', shared);

describe('the rules of proxies', () => {
  it('are one object for the same policies, in any order, and another for others', () => {
    const rules = rulesOf();
    const [a, b] = [policyOf('a'), policyOf('b')];
    const both = rules.rulesFor([a, b], NONE);
    expect(rules.rulesFor([b, a], NONE)).toBe(both);
    expect(rules.rulesFor([a], NONE)).not.toBe(both);
    expect(rules.rulesFor([], NONE)).not.toBe(both);
  });

  it('are those of the shared policies for a proxy without its own', () => {
    const rules = rulesOf(policyOf('all'));
    expect(rules.rulesFor([], NONE).rules).toBe(rules.rulesFor([], new Set(['kri_mhttpr_default___r_'])).rules);
    expect(rules.rulesFor([policyOf('own')], NONE).rules).not.toBe(rules.rulesFor([], NONE).rules);
  });

  it('are remembered for 256 sets of policies, and made again after more', () => {
    const rules = rulesOf();
    const policies = Array.from({ length: 257 }, (_, at) => policyOf(`p${String(at)}`));
    const [first] = policies.slice(0, 256).map((policy) => rules.rulesFor([policy], NONE));
    expect(rules.rulesFor(policies.slice(0, 1), NONE)).toBe(first);
    rules.rulesFor(policies.slice(256), NONE);
    expect(rules.rulesFor(policies.slice(0, 1), NONE)).not.toBe(first);
    expect(rules.rulesFor(policies.slice(0, 1), NONE)).toEqual(first);
  });

  it('name the references that mean nothing, of shared policies and of its own, sorted', () => {
    const missing = (name: string): Resource['spec'] => ({ kind: 'MeshService', name });
    const rules = rulesOf(policyOf('shared', missing('z-none')), policyOf('good', missing('cart')));
    const { warnings } = rules.rulesFor([policyOf('own', missing('a-none'))], NONE);
    expect(warnings).toEqual([expect.stringContaining('a-none'), expect.stringContaining('z-none')]);
    expect(rules.rulesFor([], NONE).warnings).toEqual([expect.stringContaining('z-none')]);
  });
});
