// Bodies of the token POSTs (rest-api 5): the required fields, their form, and the violations.
import { z } from 'zod';
import { parseGoDuration } from '../base/duration.ts';
import type { Violation } from '../base/errors.ts';
import { isStorable } from '../resource/storable-text.ts';
import { isZoneName } from './zone-token-advice.ts';
import { TEN_YEARS_MS } from './token-issuer.ts';

/** The maximum of a Go duration: about 292 years. */
const MAX_MS = Number((2n ** 63n - 1n) / 1_000_000n);
/** Names that a mesh can have (rest-api 2.4). */
const MESH_NAME = /^[0-9a-z._-]{1,253}$/;
const BAD_DURATION = 'must be a positive duration such as "24h" or "720h0m0s"';

/** Refuses text that PostgreSQL cannot store, before it is used in a query. */
const plain = z.string('must be a string').refine(isStorable, 'must have neither U+0000 nor half of a surrogate pair');
const text = plain.nullish().transform((given) => given ?? '');
const required = text.refine((given) => given !== '', 'cannot be empty');
const texts = z
  .array(plain, 'must be a list of strings')
  .nullish()
  .transform((given) => given ?? []);
/** The milliseconds of a Go duration. */
const validFor = (given: string, context: z.RefinementCtx): number => {
  const ms = given === '' ? TEN_YEARS_MS : parseGoDuration(given);
  if (ms !== null && ms > 0 && ms <= MAX_MS) return ms;
  context.addIssue({ code: 'custom', message: BAD_DURATION });
  return z.NEVER;
};

/** The types of proxy that a dataplane token may name. A zone proxy whose Dataplane comes from its own file needs one of the others. */
export const PROXY_TYPES = ['dataplane', 'ingress', 'egress'] as const;
/** The scopes of a zone token. A control plane needs the first; the others are for zone proxies of Kuma. */
export const ZONE_SCOPES = ['cp', 'ingress', 'egress'] as const;

export const userTokenRequest = z.object({ name: required, groups: texts, validFor: required.transform(validFor) });

export const zoneTokenRequest = z.object({
  zone: required.refine((given) => given === '' || isZoneName(given), {
    error: 'must be the name of a zone: lower-case letters, digits and hyphens, a letter first, at most 63',
  }),
  scope: z
    .array(z.enum(ZONE_SCOPES, `must be ${oneOf(ZONE_SCOPES)}`), 'must be a list of strings')
    .nullish()
    .transform((given) => given ?? null),
  validFor: text.transform(validFor),
});

export const dataplaneTokenRequest = z.object({
  name: text,
  mesh: required.refine((given) => given === '' || MESH_NAME.test(given), {
    error: 'must be the name of a mesh: at most 253 of lower-case letters, digits, "-", "_" and "."',
  }),
  tags: z
    .record(plain, z.array(plain, 'must be a list of strings'), 'must be lists of strings by name')
    .nullish()
    .transform((given) => given ?? {}),
  type: text.refine((given) => ['', ...PROXY_TYPES].includes(given), `must be ${oneOf(PROXY_TYPES)}`),
  workload: text,
  validFor: text.transform(validFor),
});

/** Joins values as in `a, b or c`. */
function oneOf(values: readonly string[]): string {
  return `${values.slice(0, -1).join(', ')} or ${values.at(-1) ?? ''}`;
}

/** The violations of a failed parse, each with its field, in the form of the REST API (rest-api 2.6). */
export function violationsOf({ issues }: z.ZodError): Violation[] {
  return issues.map(({ path, message }) => ({ field: path.map(String).join('.'), reason: message }));
}
