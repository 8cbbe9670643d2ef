import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { envName, loadConfig, sanitizedConfig, type ConfigSources } from './config.ts';

function fileWith(text: string): string {
  const file = join(temporaryFolder(), 'meridian.yaml');
  writeFileSync(file, text);
  return file;
}

function problemsOf(sources: Partial<ConfigSources>): string {
  try {
    loadConfig({ mode: 'zone', ...sources });
  } catch (error) {
    return (error as Error).message;
  }
  return '';
}

describe('the configuration', () => {
  it('has valid defaults', () => {
    const { config, warnings } = loadConfig({ mode: 'global', flags: { 'general.workDir': '/w' } });
    const history = { versions: 10, age: 30 * 24 * 3_600_000, total: 500_000 };
    expect(config.store).toEqual({ type: 'embedded', path: '/w/global/pg', unsafeDelete: false, history });
    expect(config.multizone.global.kds).toMatchObject({
      grpcPort: 5685,
      tlsEnabled: true,
      zoneInsightFlushInterval: 10_000,
      auth: { type: 'zoneToken' },
    });
    expect([config.apiServer.http.port, config.diagnostics.serverPort, warnings]).toEqual([5681, 5680, []]);
  });

  it('lets the environment override the file, and flags override both', () => {
    const file = fileWith(
      'apiServer: { http: { port: 1, interface: 10.0.0.1 } }\ndiagnostics: { serverPort: 1 }\nstore: { type: postgres, postgres: { dbName: a, password: hush } }',
    );
    const env = {
      MERIDIAN_API_SERVER_HTTP_PORT: '2',
      MERIDIAN_STORE_POSTGRES_DB_NAME: 'b',
      MERIDIAN_ADDRESS: 'for the command line',
    };
    const { config } = loadConfig({ mode: 'zone', file, env, flags: { 'apiServer.http.port': '3' } });
    expect(config.apiServer.http).toEqual({ enabled: true, port: 3, interface: '10.0.0.1' });
    expect(config.diagnostics.serverPort).toBe(1);
    expect(config.store).toMatchObject({ type: 'postgres', dbName: 'b', password: 'hush' });
    expect(JSON.stringify(sanitizedConfig(config))).not.toContain('hush');
  });

  it('names every unknown key and bad value, with the nearest known key', () => {
    const problems = problemsOf({
      file: fileWith('stroe: {}\napiServer: { http: { port: 70000 } }\nmultizone: { zone: { name: Not_A_Label } }'),
      env: { MERIDIAN_STORE_POSTGRES_DBNAME: 'x' },
      flags: { 'store.type': 'memory', 'general.tlsMinVersion': 'TLSv1_1', 'multizone.zone.globalAddress': 'http://x' },
    });
    for (const part of [
      'stroe: unknown key',
      'apiServer.http.port: must be a port',
      'multizone.zone.name: must be an RFC 1035 label',
      'did you mean MERIDIAN_STORE_POSTGRES_DB_NAME?',
      'store.type: must be one of embedded, postgres',
      'general.tlsMinVersion: must be TLSv1_2 or TLSv1_3',
      'multizone.zone.globalAddress: must be grpcs://',
    ]) {
      expect(problems).toContain(part);
    }
  });

  it('needs a name for a zone, and not for a global, and a time above 0 between two rounds of work', () => {
    const flags = { 'multizone.zone.name': '', 'metrics.dataplane.idleTimeout': '0s' };
    expect(problemsOf({ flags })).toContain('metrics.dataplane.idleTimeout: must be a duration above 0');
    expect(problemsOf({ flags: { 'multizone.zone.name': '' } })).toContain('multizone.zone.name: must be given');
    expect(() => loadConfig({ mode: 'global', env: {}, flags: { 'multizone.zone.name': '' } })).not.toThrow();
  });

  it('warns about keys of Kuma that Meridian does not use', () => {
    const { config, warnings } = loadConfig({
      mode: 'zone',
      file: fileWith(
        'store: { cache: { enabled: true } }\ndpServer: { tlsMaxVersion: TLSv1_3, authn: { dpProxy: { dpToken: { enableIssuer: false } } } }',
      ),
    });
    expect(warnings.map((warning) => warning.split(':')[0])).toEqual(['store.cache', 'dpServer.tlsMaxVersion']);
    expect(config.dpServer.authn.dpProxy.dpToken.enableIssuer).toBe(false);
  });

  it('accepts the whole configuration of a Kuma control plane, as GET /config answers it', () => {
    const file = join(import.meta.dirname, '../../test/peers/kuma-config.json');
    const { config, warnings } = loadConfig({ mode: 'global', file });
    const ignored = warnings.map((warning) => warning.split(':')[0]);
    expect(ignored).toEqual(expect.arrayContaining(['reports', 'general.dnsCacheTTL', 'meshService.labelPropagation']));
    expect(config.store).toMatchObject({ type: 'postgres', port: 15_432, dbName: 'kuma' });
  });

  it("reads Kuma's spelling of defaults.skipHostnameGenerators", () => {
    const { config, warnings } = loadConfig({ mode: 'global', file: fileWith('defaults: { SkipHostnameGenerators: true }') });
    expect([config.defaults.skipHostnameGenerators, warnings]).toEqual([true, []]);
    expect(problemsOf({ file: fileWith('defaults: { SkipHostnameGenerators: maybe }') })).toContain(
      'defaults.skipHostnameGenerators: must be a boolean',
    );
  });

  it.each(['tlsEnabled: true', 'tlsCertFile: /kuma.crt'])('warns that the diagnostics port has no TLS, for %s', (key) => {
    const { warnings } = loadConfig({ mode: 'zone', file: fileWith(`diagnostics: { ${key} }`) });
    expect(warnings).toEqual([expect.stringMatching(/^diagnostics\.tls.*the diagnostics port serves plain text$/)]);
  });

  it('derives the environment variable of a key', () => {
    expect(envName('multizone.zone.kds.tlsSkipVerify')).toBe('MERIDIAN_MULTIZONE_ZONE_KDS_TLS_SKIP_VERIFY');
  });
});
