// `meridian takeover` as a person runs it, on files and on a database.
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runMeridian } from '../support/run-meridian.ts';

const DUMP = join(import.meta.dirname, 'kubernetes-2.14.yaml');

describe('meridian takeover check', () => {
  it('lists what zones would lose of a dump, and fails', async () => {
    const { code, stdout, stderr } = await runMeridian(['takeover', 'check', '-f', DUMP]);
    expect(code).toBe(1);
    expect(stdout).toMatch(/Mesh\/m3 +mtls +zones get the resource without it +write a MeshIdentity/);
    expect(stderr).toContain('read as rows of Kuma 2.x');
    expect(stderr).toMatch(/--set multizone\.global\.takeover\.accept=ExternalService,Mesh\.meshServices,/);
  });

  it('ends well when each loss is accepted, with the names that it printed', async () => {
    const { stderr } = await runMeridian(['takeover', 'check', '-f', DUMP]);
    const [, kinds = ''] = /takeover\.accept=(\S+)/.exec(stderr) ?? [];
    const again = await runMeridian(['takeover', 'check', '-f', DUMP, '--accept', kinds]);
    expect([again.code, again.stderr]).toEqual([0, expect.stringContaining('zones lose nothing of these')]);
  });

  it('prints the losses for programs', async () => {
    const { code, stdout } = await runMeridian(['takeover', 'check', '-f', DUMP, '--release', '3', '-o', 'json']);
    expect([code, JSON.parse(stdout)]).toMatchObject([0, { total: 0, release: 3, items: [] }]);
  });

  it.each([
    ['no resource', '- 1\n', /must be an object/],
    ['no kind', 'a: 1\n', /must have type, or apiVersion and kind/],
    ['no YAML', 'a: [\n', /-: /],
  ])('refuses a file with %s', async (_, input, message) => {
    const { code, stderr } = await runMeridian(['takeover', 'check', '-f', '-'], { input });
    expect([code, stderr]).toEqual([1, expect.stringMatching(message)]);
  });
});
