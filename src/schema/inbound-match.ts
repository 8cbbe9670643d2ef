// The match of a `rules[]` item on requests: by the client's SPIFFE ID and by SNI (policies 1.3, D23).
import { z } from 'zod';
import type { JsonObject } from '../resource/types.ts';
import type { Findings } from './findings.ts';
import { at, items } from '../resource/json-access.ts';
import { isObject } from '../resource/read-json.ts';
import { choice, dnsName, must } from './spec-fields.ts';
import { refuses, withRules, type Rule } from './spec-rules.ts';
import { child } from '../resource/spec-path.ts';

const MAX_SPIFFE_ID = 2_048;
const TRUST_DOMAIN = /^[a-z0-9.\-_]{1,255}$/;
const SEGMENT = /^[a-zA-Z0-9.\-_]+$/;
const SPELLINGS = ['spiffeID', 'spiffeId'] as const;

const spiffe = withRules(
  z.object({
    type: choice('Exact', 'Prefix').describe(
      'A Prefix is compared as text: `…/app/c` fits `…/app/cl` too, and `…/app/c/` all below `c`.',
    ),
    value: z
      .string(must('a SPIFFE ID such as spiffe://trust-domain/path'))
      .describe('A SPIFFE ID, or the text that it begins with.'),
  }),
  checkSpiffe,
);
const matchShape = {
  spiffeID: spiffe.describe('The client, by the SPIFFE ID in its certificate.').optional(),
  spiffeId: spiffe.optional().describe('Another spelling of `spiffeID`.'),
  sni: z
    .object({
      type: choice('Exact').describe('The whole name must be equal.'),
      value: dnsName().describe('A DNS name in lower case.'),
    })
    .describe('The server name that the client asks for in its TLS handshake.')
    .optional(),
};

/** SPIFFE ID and SNI must both fit; without either every request does. An item of `allow` without either permits no client. */
export const inboundMatch = withRules(z.object(matchShape), checkSpellings);

/** A checked match. `spiffeId` is read as `spiffeID` when a policy is parsed. */
export type InboundMatch = z.infer<typeof inboundMatch>;

/** The match of `inboundMatch` with at least one of the two. */
export const narrowingMatch = withRules(z.object(matchShape), checkSpellings, (match, path, findings) => {
  if (!hasSpiffe(match) && match['sni'] === undefined) findings.violation(path, 'must have at least one of spiffeID, sni');
});

/** A rule for items of `rules[]`: with a SPIFFE ID in a match these fields of `default` cannot be applied (policies 1.3). */
export function refusedWithSpiffe(paths: readonly string[]): Rule {
  const rule = refuses(paths, 'must not be set beside a match by spiffeID: it takes effect before the client is known');
  return (item, path, findings) => {
    const conf = item['default'];
    if (isObject(conf) && items(item['matches']).some((match) => isObject(match) && hasSpiffe(match)))
      rule(conf, child(path, 'default'), findings);
  };
}

/**
 * Whether a text is a SPIFFE ID: `spiffe://<trust domain>` with an optional path.
 * @param options `isPrefix` lets it end with a slash (D23)
 */
function isSpiffeId(value: string, options: { readonly isPrefix: boolean }): boolean {
  if (!value.startsWith('spiffe://') || value.length > MAX_SPIFFE_ID) return false;
  const rest = value.slice('spiffe://'.length);
  const [domain = '', ...segments] = (options.isPrefix && rest.endsWith('/') ? rest.slice(0, -1) : rest).split('/');
  return TRUST_DOMAIN.test(domain) && segments.every((segment) => SEGMENT.test(segment) && segment !== '.' && segment !== '..');
}

function hasSpiffe(match: JsonObject): boolean {
  return SPELLINGS.some((key) => match[key] !== undefined);
}

function checkSpellings(match: JsonObject, path: string, findings: Findings): void {
  if (SPELLINGS.every((key) => match[key] !== undefined))
    findings.violation(child(path, 'spiffeId'), 'must not be set beside spiffeID: both are spellings of one field');
}

function checkSpiffe(spiffeId: JsonObject, path: string, findings: Findings): void {
  const value = at(spiffeId, 'value');
  if (typeof value !== 'string') return;
  const isPrefix = spiffeId['type'] === 'Prefix';
  if (isSpiffeId(value, { isPrefix })) return;
  findings.violation(
    child(path, 'value'),
    isPrefix
      ? 'must be the beginning of a SPIFFE ID: spiffe://trust-domain, with a path if wanted'
      : 'must be a SPIFFE ID such as spiffe://trust-domain/path',
  );
}
