// The clients that may finish the TLS handshake of a TCP port. Envoy checks a permission when the first bytes of a client come, and passes
// on what the server says before: a denied client would read it. So the handshake itself refuses it. Invariant: it refuses those clients
// alone that the permissions deny, under every server name that a client may ask by. Envoy does not know the name here.
import type { InboundMatch } from '../../schema/inbound-match.ts';
import { PERMITTING_LISTS, type ClientList } from './spec.ts';
import type { JsonObject } from '../../resource/types.ts';
import { clientsIn, type PermissionRule } from './clients.ts';
import { extension } from '../../envoy/proto-json.ts';

const NEVER = 'false';
const ALWAYS = 'true';

/** The matcher of the SPIFFE ID of a certificate. @param rules MeshTrafficPermissions of the port */
export function admittedId(rules: readonly PermissionRule[]): JsonObject {
  const permitted = conditions(rules, PERMITTING_LISTS, possibly);
  const denied = conditions(rules, ['deny'], certainly);
  const inlineString = `function envoy_match(id)\n  return (${anyOf(permitted)}) and not (${anyOf(denied)})\nend\n`;
  const lua = extension('envoy.string_matcher.lua', 'extensions.string_matcher.lua.v3.Lua', { sourceCode: { inlineString } });
  return { sanType: 'URI', matcher: { custom: lua } };
}

function conditions(
  rules: readonly PermissionRule[],
  keys: readonly ClientList[],
  conditionOf: (match: InboundMatch) => string,
): string[] {
  return rules.flatMap((rule) =>
    keys
      .flatMap((key) => clientsIn(rule, key))
      .map((client) => [rule.match, client].flatMap((match) => (match === null ? [] : [conditionOf(match)])).join(' and ')),
  );
}

function anyOf(alternatives: readonly string[]): string {
  return alternatives.length === 0 ? NEVER : alternatives.join('\n    or ');
}

/** Of a client that fits the match under some server name. */
function possibly({ spiffeID, sni }: InboundMatch): string {
  if (spiffeID !== undefined) return idCondition(spiffeID);
  return sni === undefined ? NEVER : ALWAYS;
}

/** Of a client that fits the match under every server name. */
function certainly({ spiffeID, sni }: InboundMatch): string {
  return spiffeID !== undefined && sni === undefined ? idCondition(spiffeID) : NEVER;
}

function idCondition({ type, value }: NonNullable<InboundMatch['spiffeID']>): string {
  if (type !== 'Prefix') return `id == ${luaText(value)}`;
  return `id:sub(1, ${String(Buffer.byteLength(value))}) == ${luaText(value)}`;
}

/** A string literal of Lua. Bytes with a meaning in Lua are written as numbers. */
function luaText(text: string): string {
  const bytes = [...Buffer.from(text)];
  const written = bytes.map((byte) => {
    const character = String.fromCharCode(byte);
    return /[\w./:-]/.test(character) ? character : `\\${String(byte).padStart(3, '0')}`;
  });
  return `"${written.join('')}"`;
}
