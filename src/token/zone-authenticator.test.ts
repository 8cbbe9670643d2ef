import { describe, expect, it } from 'vitest';
import { ZoneAuthenticator, type ZoneAuthConfig } from './zone-authenticator.ts';

const expiresAt = new Date('2027-01-01T00:00:00Z');
const verifier = {
  zone: async (token: string) =>
    token.startsWith('good.')
      ? ({ ok: true, claims: { zone: token.slice('good.'.length).replace('.x', ''), scope: [] }, id: 'i', expiresAt } as const)
      : ({ ok: false, reason: 'expired on 2020-01-01T00:00:00.000Z' } as const),
};

async function authenticate(values: readonly string[], zone = 'east', config: Partial<ZoneAuthConfig> = {}) {
  return await new ZoneAuthenticator(verifier, { type: 'zoneToken', allowWithoutToken: [], ...config }).authenticate(
    values,
    zone,
  );
}

const how =
  'Where the admin of the global is, run: meridian generate zone-token --zone east --scope cp --valid-for 8760h --out east.token; then give the ' +
  'zone that file: multizone.zone.kds.auth.tokenFile or MERIDIAN_MULTIZONE_ZONE_KDS_AUTH_TOKEN_FILE=east.token';

describe('ZoneAuthenticator', () => {
  it('admits a zone with its token', async () => {
    for (const value of ['Bearer good.east.x', 'bearer  good.east.x'])
      expect(await authenticate([value])).toEqual({ ok: true, token: { zone: 'east', text: 'good.east.x', expiresAt } });
  });

  it('refuses a token for another zone', async () => {
    const outcome = await authenticate(['Bearer good.east.x'], 'west');
    const reason = `the token of zone "west" is for zone "east". ${how.replaceAll('east', 'west')}`;
    expect(outcome).toEqual({ ok: false, reason });
  });

  it.each([
    [[], true],
    [['cp'], true],
    [['ingress', 'cp'], true],
    [['ingress'], false],
    [['ingress', 'egress'], false],
  ])('answers %s for a token with the scope %j', async (scope, ok) => {
    const claims = { zone: 'east', scope };
    const scoped = { zone: async () => ({ ok: true, claims, id: 'i', expiresAt }) as const };
    const authenticator = new ZoneAuthenticator(scoped, { type: 'zoneToken', allowWithoutToken: ['east'] });
    const outcome = await authenticator.authenticate(['Bearer good.east.x'], 'east');
    expect(outcome.ok).toBe(ok);
    if (!outcome.ok) expect(outcome.reason).toContain(`has the scope ${scope.join(', ')}, and a control plane needs cp`);
  });

  it('shows the first 63 characters of a client-id that is no name of a zone', async () => {
    const reason = `client-id "${'A'.repeat(63)}" is no name of a zone`;
    expect(await authenticate(['Bearer good.east.x'], 'A'.repeat(64))).toEqual({ ok: false, reason });
  });

  it('shows the first 63 characters of the zone of a foreign token', async () => {
    const outcome = await authenticate([`Bearer good.${'w'.repeat(64)}.x`]);
    expect(outcome).toEqual({ ok: false, reason: `the token of zone "east" is for zone "${'w'.repeat(63)}". ${how}` });
  });

  it('prints the command to run when the token is missing', async () => {
    const kuma =
      'A Kuma zone sends no token; admit it by listing east in multizone.global.kds.auth.allowWithoutToken of the global';
    expect(await authenticate([])).toEqual({ ok: false, reason: `zone "east" sent no token. ${how}. ${kuma}` });
  });

  it('prints the command to run when the token is invalid', async () => {
    const reason = `the token of zone "east" expired on 2020-01-01T00:00:00.000Z. ${how}`;
    expect(await authenticate(['Bearer bad.x.x'])).toEqual({ ok: false, reason });
  });

  it.each([
    [['Bearer good.east.x', 'Bearer good.east.x']],
    [['Bearer good.east.x, Bearer good.east.x']],
    [['good.east.x']],
    [['Basic good.east.x']],
    [['Bearer ']],
    [['']],
  ])('refuses authorization %o', async (values) => {
    const reason = `zone "east" must send exactly one authorization, of the form "Bearer <token>". ${how}`;
    expect(await authenticate(values)).toEqual({ ok: false, reason });
  });

  it('admits listed zones without a token, but not with an invalid one', async () => {
    const config = { allowWithoutToken: ['east'] };
    expect(await authenticate([], 'east', config)).toEqual({ ok: true, token: null });
    expect(await authenticate(['Bearer bad.x.x'], 'east', config)).toMatchObject({ ok: false });
    expect(await authenticate([], 'west', config)).toMatchObject({ ok: false });
  });

  it('requires no token with type none', async () => {
    expect(await authenticate([], 'east', { type: 'none' })).toEqual({ ok: true, token: null });
    expect(await authenticate(['Bearer bad.x.x'], 'east', { type: 'none' })).toEqual({ ok: true, token: null });
  });

  it('prints no command with a name that a shell would interpret', async () => {
    for (const zone of ['', 'East', 'a b', '$(reboot)', 'x;y', 'a'.repeat(64), 'x\n']) {
      const outcome = await authenticate([], zone, { allowWithoutToken: [zone] });
      expect(outcome).toMatchObject({
        ok: false,
        reason: expect.stringMatching(/^client-id ".*" is no name of a zone$/) as unknown,
      });
    }
  });

  it('gives a reason that fits into a gRPC status', async () => {
    const outcome = await authenticate([], `z${'z'.repeat(62)}`);
    expect(outcome.ok ? '' : outcome.reason).toMatch(/of the global$/);
    expect(outcome.ok ? 0 : outcome.reason.length).toBeLessThan(1_000);
  });
});
