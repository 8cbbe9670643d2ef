import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { makeRow } from '../../test/support/make-row.ts';
import type { JsonObject } from '../resource/types.ts';
import { zoneSync } from '../zone-status/zone-sync.ts';
import {
  certificateProblems,
  identityProblems,
  membershipProblems,
  plaintextProblems,
  replicaProblems,
  versionProblems,
} from './process-problems.ts';
import { problemOf, problemCodes } from './problem.ts';
import { zoneProblems } from './zone-problems.ts';

const NOW = new Date('2026-01-02T00:00:00.000Z');
const ago = (ms: number): Date => new Date(NOW.getTime() - ms);
const DAY_MS = 24 * 3_600_000;

const connected = { subscriptions: [{ connectTime: '2026-01-01T00:00:00.000Z' }] };
const away = { subscriptions: [{ connectTime: '2026-01-01T00:00:00.000Z', disconnectTime: '2026-01-01T12:00:00.000Z' }] };

/** The codes and dates of the problems of zone east. */
function ofZone(spec: JsonObject, status: JsonObject = {}, isEnabled = true) {
  const insight = { spec, status };
  const zone = { name: 'east', isEnabled };
  const sync = zoneSync(zone, insight, undefined, NOW);
  return zoneProblems({ ...zone, insight, sync }, NOW).map(({ code, since, until }) => [code, until ?? since]);
}

const replica = (instanceId: string, more: { isLeader?: boolean; isSilent?: boolean; since?: Date } = {}) => {
  const { since = ago(120_000), isLeader = false, isSilent = false } = more;
  const times = { since: since.toISOString(), lastSeen: ago(1_000) };
  return { instanceId, version: '1', isLeader, isSilent, zones: null, isDraining: false, ...times };
};

describe('the problems of a zone', () => {
  it('are none while it is connected and has everything', () => expect(ofZone(connected)).toEqual([]));

  it('are none in a zone without a global, which connects to none', () => {
    const [zone, insight] = [
      { name: 'east', isEnabled: true },
      { spec: {}, status: {} },
    ];
    const sync = zoneSync(zone, insight, 'alone', NOW);
    expect(sync).toMatchObject({ state: 'online', reason: 'zone east has no global' });
    expect(zoneProblems({ ...zone, insight, sync }, NOW)).toEqual([]);
  });

  it.each([
    ['it is not connected', away, {}, ['zoneAway', '2026-01-01T12:00:00.000Z']],
    ['it has never connected', {}, {}, ['zoneAway', null]],
    [
      'its calls are refused',
      away,
      { refusedStreams: { count: 2, since: ago(5_000).toISOString(), last: ago(1_000).toISOString(), reason: 'no' } },
      ['zoneRefused', ago(5_000).toISOString()],
    ],
    [
      'some of its streams are refused',
      connected,
      { refusedStreams: { count: 2, since: ago(5_000).toISOString(), last: ago(1_000).toISOString(), reason: 'no' } },
      ['streamsRefused', ago(5_000).toISOString()],
    ],
    [
      'its full states wait',
      connected,
      { delayedFullStates: { count: 2, since: ago(5_000).toISOString(), last: ago(1_000).toISOString(), reason: 'no' } },
      ['fullStatesDelayed', ago(5_000).toISOString()],
    ],
    [
      'it has not answered for half a minute',
      connected,
      { lag: { since: ago(10_000).toISOString(), types: ['MeshTimeout'] } },
      ['zoneLagging', ago(10_000).toISOString()],
    ],
    [
      'its token ends',
      connected,
      { tokenExpiresAt: ago(-29 * DAY_MS).toISOString() },
      ['zoneTokenEnds', ago(-29 * DAY_MS).toISOString()],
    ],
    ...(['refused', 'suspected', 'withheld'] as const).map((kind): [string, JsonObject, JsonObject, (string | null)[]] => [
      `a resource is ${kind}`,
      connected,
      {
        syncProblems: [
          {
            stream: 'globalToZone',
            type: 'MeshTimeout',
            kind,
            resources: ['a'],
            count: 1,
            message: 'no',
            time: NOW.toISOString(),
          },
        ],
      },
      [`resources${kind[0]?.toUpperCase() ?? ''}${kind.slice(1)}`, NOW.toISOString()],
    ]),
  ] as [string, JsonObject, JsonObject, (string | null)[]][])('say that %s', (_what, spec, status, problem) => {
    expect(ofZone(spec, status)).toEqual([problem]);
  });

  it('are none for a disabled zone that is not connected, a short lag and a token of some months', () => {
    expect(ofZone(away, {}, false)).toEqual([]);
    expect(ofZone(connected, { lag: { since: ago(9_000).toISOString(), types: ['Mesh'] } })).toEqual([]);
    expect(ofZone(connected, { tokenExpiresAt: ago(-31 * DAY_MS).toISOString() })).toEqual([]);
  });

  it('say that two control planes take it from each other', () => {
    const subscriptions = ['a', 'b', 'a'].map((zoneInstanceId, index) => ({
      zoneInstanceId,
      connectTime: ago(10_000 - index).toISOString(),
    }));
    expect(ofZone({ subscriptions })).toEqual([['zoneContended', null]]);
  });
});

describe('the problems of replicas', () => {
  const codes = (...args: Parameters<typeof replicaProblems>): string[] => replicaProblems(...args).map(({ id }) => id);

  it('are none while one of them leads', () => {
    expect(codes([replica('a', { isLeader: true }), replica('b')], ago(DAY_MS), NOW)).toEqual([]);
  });

  it('say that none leads, when the last leader has been gone for a minute', () => {
    expect(codes([replica('a'), replica('b')], ago(DAY_MS), NOW)).toEqual(['noLeader']);
    expect(codes([replica('a'), replica('b', { since: ago(59_000) })], ago(DAY_MS), NOW)).toEqual([]);
    expect(codes([replica('a')], ago(59_000), NOW)).toEqual([]);
  });

  it('say that two lead, and which one is silent', () => {
    const two = [replica('a', { isLeader: true }), replica('b', { isLeader: true })];
    expect(codes(two, ago(DAY_MS), NOW)).toEqual(['twoLeaders']);
    expect(codes([replica('a', { isLeader: true, isSilent: true }), replica('b', { isLeader: true })], ago(DAY_MS), NOW)).toEqual(
      ['replicaAway/a'],
    );
  });
});

describe('the problems of a process', () => {
  it('say that a certificate ends in less than two weeks', () => {
    const ends = new Map([
      ['api', ago(-15 * DAY_MS)],
      ['kds', ago(-13 * DAY_MS)],
      ['proxies', ago(1)],
    ]);
    const found = certificateProblems(ends, 'cp-1', NOW);
    expect(found.map(({ id }) => id)).toEqual(['certificateEnds/kds/cp-1', 'certificateEnds/proxies/cp-1']);
    expect(found.map(({ message }) => message.split(' ').slice(5, 7).join(' '))).toEqual(['kds ends', 'proxies has']);
  });

  it('name the versions of a fleet that has more than one', () => {
    expect(versionProblems(new Map([['a', '1'], ['b', '1']]))).toEqual([]); // oxfmt-ignore
    const members = new Map(['a', 'b', 'c', 'd', 'e', 'f'].map((name): [string, string] => [`zone ${name}`, '2']));
    members.set('replica x', '1');
    expect(versionProblems(members)[0]?.message).toBe(
      'the fleet has 2 versions. 1: replica x; 2: zone a, zone b, zone c, zone d, zone e and 1 more',
    );
  });

  it('name the MeshIdentities that are not ready, with their reason', () => {
    const identity = (name: string, status: 'True' | 'False', zone?: string) =>
      makeRow('MeshIdentity', `${name}-1`, {
        mesh: 'shop',
        labels: { 'kuma.io/display-name': name, ...(zone !== undefined && { 'kuma.io/zone': zone }) },
        status: { conditions: [{ type: 'Ready', status, reason: 'AuthorityUnusable', message: 'its key is lost' }] },
      });
    const unknown = makeRow('MeshIdentity', 'new', { mesh: 'shop' });
    const found = identityProblems([
      identity('good', 'True', 'east'),
      unknown,
      identity('bad', 'False', 'east'),
      identity('own', 'False'),
    ]);
    const about = { type: 'MeshIdentity', mesh: 'shop', since: null };
    expect(found).toMatchObject([
      {
        ...{ ...about, id: 'identityNotReady/shop/bad-1', zone: 'east', resources: ['bad'] },
        message: 'MeshIdentity bad of mesh shop in zone east is not ready: its key is lost',
      },
      { ...about, resources: ['own'], message: 'MeshIdentity own of mesh shop is not ready: its key is lost' },
    ]);
    expect(found[1]).not.toHaveProperty('zone');
  });

  it('name the meshes with services that take plain text', () => {
    const found = plaintextProblems(new Map([['shop', ['cart']], ['bank', []]])); // oxfmt-ignore
    expect(found).toMatchObject([{ id: 'meshPlaintext/shop', mesh: 'shop', resources: ['cart'], count: 1 }]);
  });
});

it('each kind of problem names a section of the runbook that exists', () => {
  const runbook = readFileSync(join(import.meta.dirname, '../../docs/runbook.md'), 'utf8');
  const sections = [...runbook.matchAll(/^#+ (.*)$/gm)].map(([, title = '']) => title.toLowerCase().replaceAll(/[^\w ]/g, '').replaceAll(' ', '-')); // oxfmt-ignore
  const named = problemCodes.map((code) => problemOf(code, [], { since: null, message: '' }).runbook.split('#')[1]);
  expect(named.filter((section) => !sections.includes(section ?? ''))).toEqual([]);
});

it('a zone that has resources in a mesh of which it is no member is a problem for each such mesh', () => {
  const found = membershipProblems(new Map([['east', new Map([['pay', 3]])], ['west', new Map()]])); // oxfmt-ignore
  expect(found).toMatchObject([{ id: 'notAMember/east/pay', zone: 'east', mesh: 'pay', count: 3 }]);
});
