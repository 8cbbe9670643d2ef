// The token POSTs as a table for the REST API: path, the access rule that guards it, and the answer to a body (rest-api 5).
import type { z } from 'zod';
import { MeridianError, type Violation } from '../base/errors.ts';
import { NOT_ISSUED, type TokenIssuer } from './token-issuer.ts';
import type { TokenKind } from './token-realm.ts';
import { dataplaneTokenRequest, userTokenRequest, violationsOf, zoneTokenRequest } from './token-request.ts';

export type TokenAnswer =
  /** The answer is `text/plain`: the token, or empty with 400 for an unreadable body. */
  | { readonly status: 200 | 400; readonly text: string }
  /** An error of the catalogue; its code determines the status. */
  | {
      readonly code: 'invalid' | 'bad_request' | 'not_found';
      readonly title: string;
      readonly detail: string;
      readonly violations: readonly Violation[];
    };

export type TokenRoute = {
  readonly kind: TokenKind;
  readonly path: string;
  /** The rule in `access.static`. */
  readonly action: 'generateUserToken' | 'generateDpToken' | 'generateZoneToken';
  /** It rejects only with MeridianError `unavailable` or `internal`. */
  readonly answer: (body: string) => Promise<TokenAnswer>;
};

/** The configuration keys that enable the issuers (rest-api 7.1). */
const GATE: Record<TokenKind, string> = {
  user: 'apiServer.authn.tokens.enableIssuer',
  zone: 'dpServer.authn.zoneProxy.zoneToken.enableIssuer',
  dataplane: 'dpServer.authn.dpProxy.dpToken.enableIssuer',
};

/** Makes the routes. @param enabled by kind, the value of `enableIssuer` in the configuration */
export function tokenRoutes(
  issuer: Pick<TokenIssuer, TokenKind>,
  enabled: Readonly<Record<TokenKind, boolean>>,
): readonly TokenRoute[] {
  const route = <T extends { validFor: number }>(
    kind: TokenKind,
    action: TokenRoute['action'],
    schema: z.ZodType<T>,
    issue: (request: T) => Promise<string>,
  ): TokenRoute => ({
    kind,
    path: `/tokens/${kind}`,
    action,
    answer: async (body) => (enabled[kind] ? await answer(body, schema, issue) : disabled(kind)),
  });
  return [
    route('user', 'generateUserToken', userTokenRequest, (request) => issuer.user(request, request.validFor)),
    route('zone', 'generateZoneToken', zoneTokenRequest, (request) => issuer.zone(request, request.validFor)),
    route('dataplane', 'generateDpToken', dataplaneTokenRequest, (request) => issuer.dataplane(request, request.validFor)),
  ];
}

async function answer<T>(body: string, schema: z.ZodType<T>, issue: (request: T) => Promise<string>): Promise<TokenAnswer> {
  const json = parseObject(body);
  if (json === null) return { status: 400, text: '' };
  const request = schema.safeParse(json);
  if (!request.success) return invalid(violationsOf(request.error));
  try {
    return { status: 200, text: await issue(request.data) };
  } catch (error) {
    if (error instanceof MeridianError && error.code === 'not_found')
      return failure('not_found', 'Signing Key not found', error.message);
    if (error instanceof MeridianError && error.code === 'invalid') return invalid(error.violations);
    throw error;
  }
}

function invalid(violations: readonly Violation[]): TokenAnswer {
  return failure('invalid', NOT_ISSUED, 'Resource is not valid', violations);
}

function disabled(kind: TokenKind): TokenAnswer {
  return failure('bad_request', NOT_ISSUED, `${kind} tokens are not issued here: ${GATE[kind]} is false`);
}

function failure(
  code: 'invalid' | 'bad_request' | 'not_found',
  title: string,
  detail: string,
  violations: readonly Violation[] = [],
): TokenAnswer {
  return { code, title, detail, violations };
}

function parseObject(body: string): object | null {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}
