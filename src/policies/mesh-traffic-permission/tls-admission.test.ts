import { describe, expect, it } from 'vitest';
import { objectOf } from '../../resource/read-json.ts';
import type { JsonObject } from '../../resource/types.ts';
import type { PermissionRule } from './clients.ts';
import { admittedId } from './tls-admission.ts';

const exact = (value: string): JsonObject => ({ spiffeID: { type: 'Exact', value } });
const prefix = (value: string): JsonObject => ({ spiffeID: { type: 'Prefix', value } });
const named = (match: JsonObject): JsonObject => ({ ...match, sni: { type: 'Exact', value: 'a.b' } });
const rule = (conf: JsonObject, match: JsonObject | null = null): PermissionRule =>
  ({ match, conf }) as unknown as PermissionRule;

/** The condition of the program, on one line. */
function conditionOf(...rules: PermissionRule[]): string {
  const { matcher } = admittedId(rules);
  const { sourceCode } = objectOf(objectOf(objectOf(matcher)['custom'])['typedConfig']);
  const text = String(objectOf(sourceCode)['inlineString']).replace(/\s+/g, ' ');
  return /^function envoy_match\(id\) return (.*) end $/.exec(text)?.[1] ?? text;
}

describe('a TLS handshake with a TCP port', () => {
  it.each<[what: string, rules: PermissionRule[], condition: string]>([
    ['no client without a permission', [], '(false) and not (false)'],
    ['a client by its SPIFFE ID', [rule({ allow: [exact('spiffe://a/b')] })], '(id == "spiffe://a/b") and not (false)'],
    [
      'clients by the beginning of their SPIFFE ID',
      [rule({ allowWithShadowDeny: [prefix('spiffe://a')] })],
      '(id:sub(1, 10) == "spiffe://a") and not (false)',
    ],
    [
      'no client that some rule denies',
      [rule({ allow: [prefix('a')] }), rule({ allow: [prefix('b')], deny: [exact('a/1'), exact('b/1')] })],
      '(id:sub(1, 1) == "a" or id:sub(1, 1) == "b") and not (id == "a/1" or id == "b/1")',
    ],
    [
      'no client at all behind an empty denial',
      [rule({ allow: [{}], deny: [{}] })],
      '(false) and not (id:sub(1, 9) == "spiffe://")',
    ],
    [
      'the clients that fit the rule and its match',
      [rule({ allow: [exact('a/1')], deny: [exact('a/2')] }, prefix('a'))],
      '(id:sub(1, 1) == "a" and id == "a/1") and not (id:sub(1, 1) == "a" and id == "a/2")',
    ],
    [
      'who may be permitted under some server name, and is not denied under every one',
      [rule({ allow: [named(exact('a')), named({})], deny: [named(exact('b'))] })],
      '(id == "a" or true) and not (false)',
    ],
    [
      'a client whose ID has a meaning in Lua, by its bytes',
      [rule({ allow: [exact('a"\\\n]]é')] })],
      String.raw`(id == "a\034\092\010\093\093\195\169") and not (false)`,
    ],
  ])('admits %s', (_, rules, condition) => {
    expect(conditionOf(...rules)).toBe(condition);
  });
});
