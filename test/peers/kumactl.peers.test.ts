// kumactl against the REST APIs of Meridian and Kuma: it must print the same.
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { label } from '../../src/resource/labels.ts';
import type { Json, JsonObject } from '../../src/resource/types.ts';
import { freePort } from '../support/free-port.ts';
import { differences } from './copies.ts';
import { MESH, readCorpus } from './corpus.ts';
import { Kumactl } from './kumactl.ts';
import { LONG_WAIT, startGlobal, startZone, stopPlane, untilReady, type Maker } from './mixed-fleet.ts';

const MESH_DOCUMENT = { type: 'Mesh', name: MESH, skipCreatingInitialPolicies: ['*'] };

/** Ours names a zone proxy only where a policy has an effect on it (decision 56). */
const withoutZoneProxies = (answer: string): string => answer.replace(/^ *zone-proxy\n/m, '');

describe.each(['global', 'zone'] as const)('kumactl with a Kuma or Meridian %s', (mode) => {
  let kuma: Kumactl;
  let ours: Kumactl;
  // A zone without a global may write all types. A Kuma zone makes trusts and secrets of a MeshIdentity; ours makes none yet.
  const corpus = readCorpus().filter(({ info }) => (mode === 'zone' ? info.name !== 'MeshIdentity' : info.writers !== 'zone'));
  const types = [...new Set(corpus.map(({ info }) => info))];
  const applied: string[] = [];

  beforeAll(async () => {
    const start = async (maker: Maker): Promise<Kumactl> => {
      const url = inject('postgresUrl');
      const plane = await (mode === 'global' ? startGlobal(maker, url, await freePort()) : startZone(maker, url, 'east', null));
      await untilReady(plane);
      return await Kumactl.of(plane);
    };
    [kuma, ours] = await Promise.all([start('kuma'), start('meridian')]);
    const documents = [MESH_DOCUMENT, ...corpus.map(({ body }) => body)];
    for (const kumactl of [kuma, ours]) applied.push(await kumactl.apply(documents));
  });

  afterAll(async () => {
    for (const kumactl of [kuma, ours]) kumactl.close();
    await Promise.all([kuma, ours].map(({ plane }) => stopPlane(plane)));
  });

  it('applies the same resources', () => {
    expect(withoutWarnings(applied[1])).toBe(withoutWarnings(applied[0]));
  });

  it('applies the same resources a second time', async () => {
    const documents = corpus.map(({ body }) => body);
    expect(withoutWarnings(await ours.apply(documents))).toBe(withoutWarnings(await kuma.apply(documents)));
  });

  it('gets the same resources of every type', async () => {
    for (const { name, path, scope } of types) {
      const args = ['get', path.replaceAll('-', ''), '-o', 'json', ...(scope === 'Mesh' ? ['-m', MESH] : [])];
      await expectSame(async (kumactl) => byName(JSON.parse(await kumactl.run(...args))), name);
    }
  });

  it('exports the same resources', async () => {
    await expectSame(async (kumactl) => byKey(await kumactl.run('export', '--profile', 'all')), 'export');
  });

  it('prints the same answers of inspect', async () => {
    const policies = [...new Map(corpus.filter(({ info }) => info.policy !== null).map((one) => [one.info, one])).values()];
    const questions = [
      ['meshes', '-o', 'json'],
      ['zones', '-o', 'json'],
      ...(mode === 'zone' ? [['dataplanes', '-m', MESH, '-o', 'json']] : []),
    ];
    for (const question of questions)
      await expectSame(async (kumactl) => readable(await kumactl.run('inspect', ...question)), question.join(' '));
    for (const { info, name } of policies)
      await expectSame(
        async (kumactl) => withoutZoneProxies(await kumactl.run('inspect', info.name.toLowerCase(), name, '-m', MESH)),
        name,
      );
  });

  it('deletes the same resources', async () => {
    for (const { info, name } of corpus) {
      const args = ['delete', info.name.toLowerCase(), name, ...(info.scope === 'Mesh' ? ['-m', MESH] : [])];
      const [theirs, mine] = await Promise.all([kuma, ours].map((kumactl) => kumactl.run(...args)));
      expect.soft(mine, args.join(' ')).toBe(theirs);
    }
  });

  /** Asks both until the answers are the same: a zone computes on its resources for seconds. */
  async function expectSame(ask: (kumactl: Kumactl) => Promise<Json>, title: string): Promise<void> {
    await vi.waitFor(async () => {
      const [theirs, mine] = await Promise.all([ask(kuma), ask(ours)]);
      expect(differences(mine, theirs, title)).toEqual([]);
    }, LONG_WAIT);
  }
});

/** Meridian warns of more than Kuma. */
function withoutWarnings(output = ''): string {
  return output.replaceAll(/^Warning: .*\n/gm, '');
}

/** Of the control plane and not of the request: times, addresses in the order in which they were given out, words for people. */
const OWN_KEYS = new Set([
  'creationTime',
  'modificationTime',
  'lastSync',
  'ip',
  'message',
  label.zone,
  label.displayName,
  label.origin,
]);

function withoutOwn(value: Json): Json {
  return JSON.parse(JSON.stringify(value, (key, part: Json) => (OWN_KEYS.has(key) ? undefined : part))) as Json;
}

/** The items of a list by name; keys that each control plane makes for itself are left out. */
function byName(list: unknown): JsonObject {
  const { items = [] } = list as { items?: { name: string }[] };
  const entries = items
    .filter(({ name }) => !isOwn(name))
    .map((item) => [item.name, withoutOwn(item as unknown as Json)] as const);
  return Object.fromEntries(entries);
}

function byKey(yaml: string): JsonObject {
  const documents = parseAllDocuments(yaml).map((document) => document.toJS() as JsonObject | null);
  const named = documents.filter((one) => one !== null).filter(({ name }) => !isOwn(String(name)));
  return Object.fromEntries(
    named.map((one) => [[one['type'], one['mesh'] ?? '', one['name']].join(' '), withoutOwn(withoutOwnDefaults(one))]),
  );
}

/** Fields of initial policies that differ on purpose: a request that meets a killed server is tried at another one (decision 67). */
const OWN_DEFAULTS: ReadonlySet<string> = new Set(['hostSelection', 'hostSelectionMaxAttempts', 'maxRetries']);

function withoutOwnDefaults(document: JsonObject): JsonObject {
  if (!/^mesh-(retry|circuit-breaker)-all-/.test(String(document['name']))) return document;
  const without = (key: string, part: Json): Json | undefined => (OWN_DEFAULTS.has(key) ? undefined : part);
  return JSON.parse(JSON.stringify(document, without)) as JsonObject;
}

function isOwn(name: string): boolean {
  return /signing-key|envoy-admin-ca|inter-cp-ca|admin-user-token/.test(name);
}

/** JSON where it is JSON, else the text. */
function readable(text: string): Json {
  try {
    return withoutOwn(JSON.parse(text) as Json);
  } catch {
    return text;
  }
}
