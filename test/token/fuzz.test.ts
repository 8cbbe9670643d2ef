// Random and mutated tokens: the verifier accepts or refuses each one, and no answer contains a secret.
import { fc } from '../support/property.ts';
import { beforeAll, describe, expect, it } from 'vitest';
import { authenticateRequest } from '../../src/token/authenticate-request.ts';
import { signJwt } from '../../src/token/jwt.ts';
import { TokenIssuer } from '../../src/token/token-issuer.ts';
import { dataplaneRealm, userRealm, zoneRealm } from '../../src/token/token-realm.ts';
import { tokenRoutes } from '../../src/token/token-routes.ts';
import { TokenSecrets } from '../../src/token/token-secrets.ts';
import { TokenVerifier } from '../../src/token/token-verifier.ts';
import { ZoneAuthenticator } from '../../src/token/zone-authenticator.ts';
import { TinyStore } from '../support/tiny-store.ts';
import { pairOf, putKey, timesAt } from './signing-secrets.ts';

const now = new Date('2026-01-01T00:00:00Z');
const RUNS = { numRuns: 300 };
let issuer: TokenIssuer;
let verifier: TokenVerifier;
let good: string;

beforeAll(async () => {
  const store = new TinyStore();
  for (const realm of [userRealm, zoneRealm, dataplaneRealm('shop')]) await putKey(store, realm, '1');
  const secrets = new TokenSecrets({ store, federated: false });
  issuer = new TokenIssuer(secrets, () => now);
  verifier = new TokenVerifier(secrets, () => now);
  good = await issuer.zone({ zone: 'east', scope: null }, 3_600_000);
});

/** Checks a text as every kind of token; no check may reject. */
async function check(token: string): Promise<void> {
  const outcomes = [await verifier.user(token), await verifier.zone(token), await verifier.dataplane(token, 'shop')];
  const signature = good.split('.')[2] ?? '';
  for (const outcome of outcomes)
    if (outcome.ok) expect(outcome.claims).toEqual({ zone: 'east', scope: [] });
    else {
      expect(outcome.reason).not.toBe('');
      expect(outcome.reason.length).toBeLessThan(300);
      expect(outcome.reason).not.toContain(signature);
    }
}

const part = fc.oneof(
  fc.base64String().map((text) => text.replace(/[=+/]/g, '_')),
  fc.json().map((text) => Buffer.from(text).toString('base64url')),
  fc.string({ unit: 'binary' }),
);

describe('the verifier', () => {
  it('answers any text', async () => {
    await fc.assert(fc.asyncProperty(fc.string({ unit: 'binary', maxLength: 9_000 }), check), RUNS);
  });

  it('answers any three parts', async () => {
    await fc.assert(
      fc.asyncProperty(part, part, part, (...parts) => check(parts.join('.'))),
      RUNS,
    );
  });

  it('answers a valid token with changed, removed or inserted characters', async () => {
    const edit = fc.record({ at: fc.nat(), remove: fc.nat(3), insert: fc.string({ maxLength: 3 }) });
    const apply = (text: string, { at, remove, insert }: { at: number; remove: number; insert: string }): string => {
      const start = at % (text.length + 1);
      return text.slice(0, start) + insert + text.slice(start + remove);
    };
    await fc.assert(
      fc.asyncProperty(fc.array(edit, { minLength: 1, maxLength: 4 }), (edits) => check(edits.reduce(apply, good))),
      RUNS,
    );
  });

  it('answers any header with a valid payload', async () => {
    const [, payload = '', signature = ''] = good.split('.');
    const header = fc.record(
      {
        alg: fc.oneof(fc.constant('RS256'), fc.string(), fc.jsonValue()),
        kid: fc.oneof(fc.constant('1'), fc.string(), fc.jsonValue()),
      },
      { requiredKeys: [] },
    );
    await fc.assert(
      fc.asyncProperty(header, fc.dictionary(fc.string(), fc.jsonValue()), (known, other) => {
        const text = Buffer.from(JSON.stringify({ ...other, ...known })).toString('base64url');
        return check(`${text}.${payload}.${signature}`);
      }),
      RUNS,
    );
  });

  it('answers any signed claims', async () => {
    const claim = fc.oneof(fc.jsonValue(), fc.string(), fc.double(), fc.constantFrom(0, -1, 1e300, -1e300, 2 ** 53));
    const keys = [
      'Name',
      'Groups',
      'Zone',
      'Scope',
      'Mesh',
      'Tags',
      'Type',
      'Workload',
      'exp',
      'nbf',
      'iat',
      'jti',
      'iss',
      'aud',
    ];
    const claims = fc.dictionary(fc.constantFrom(...keys), claim);
    await fc.assert(
      fc.asyncProperty(claims, fc.boolean(), async (given, withTimes) => {
        const signed = { ...(withTimes && timesAt(now)), ...given };
        // A token that the signer refuses to sign cannot exist.
        const token = await signJwt(signed, '1', pairOf('user1').privateKey).catch(() => 'unsigned');
        const outcome = await verifier.user(token);
        if (outcome.ok) expect(outcome.claims.name).toBe(given['Name']);
        else expect(outcome.reason).not.toBe('');
      }),
      { numRuns: 150 },
    );
  });
});

describe('the callers of the verifier', () => {
  it('answer any headers of a request', async () => {
    const value = fc.oneof(
      fc.string(),
      fc.array(fc.string(), { maxLength: 3 }),
      part.map((text) => `Bearer ${text}`),
    );
    const names = ['host', 'authorization', 'origin', 'sec-fetch-site', 'forwarded', 'x-forwarded-for', 'x-real-ip'];
    const facts = fc.record({
      method: fc.string(),
      url: fc.string(),
      remoteAddress: fc.oneof(fc.string(), fc.ipV4(), fc.ipV6(), fc.constant('127.0.0.1')),
      encrypted: fc.boolean(),
      headers: fc.dictionary(fc.constantFrom(...names), value),
    });
    await fc.assert(
      fc.asyncProperty(facts, async (request) => {
        const outcome = await authenticateRequest(request, { type: 'tokens', localhostIsAdmin: true }, verifier);
        if (outcome.ok && outcome.user.name === 'mesh-system:admin')
          expect(request.remoteAddress).toMatch(/^127\.|^::1$|^::ffff:127\./i);
      }),
      RUNS,
    );
  });

  it('answer any metadata of a zone, and admit only the zone of the token', async () => {
    const zones = new ZoneAuthenticator(verifier, { type: 'zoneToken', allowWithoutToken: [] });
    const value = fc.oneof(
      fc.string(),
      fc.constant(`Bearer ${good}`),
      part.map((text) => `Bearer ${text}.${text}.${text}`),
    );
    const zone = fc.oneof(fc.constantFrom('east', 'west', 'East', 'east '), fc.string());
    await fc.assert(
      fc.asyncProperty(fc.array(value, { maxLength: 3 }), zone, async (values, name) => {
        const outcome = await zones.authenticate(values, name);
        expect(outcome.ok).toBe(name === 'east' && values.length === 1 && values[0] === `Bearer ${good}`);
        if (!outcome.ok) expect(outcome.reason).not.toContain(good.split('.')[2]);
      }),
      RUNS,
    );
  });

  it('answer any body', async () => {
    const routes = tokenRoutes(issuer, { user: true, zone: true, dataplane: true });
    const fields = ['name', 'groups', 'validFor', 'zone', 'scope', 'mesh', 'tags', 'type', 'workload', '__proto__'];
    const value = fc.oneof(fc.jsonValue(), fc.string(), fc.constantFrom('shop', 'east', '24h', '9999999999h', '1e9h', '.h'));
    const body = fc.oneof(
      fc.string(),
      fc.json(),
      fc.dictionary(fc.constantFrom(...fields), value).map((given) => JSON.stringify(given)),
    );
    await fc.assert(
      fc.asyncProperty(body, async (text) => {
        for (const route of routes) {
          const answer = await route.answer(text);
          if ('text' in answer) expect(answer.status === 200).toBe(answer.text !== '');
          else expect(answer.title).not.toBe('');
        }
      }),
      RUNS,
    );
  });
});
