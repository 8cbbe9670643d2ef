// These tests go from a response and the stored rows to writes and refusals.
import { describe, expect, it } from 'vitest';
import { makeRow } from '../../../test/support/make-row.ts';
import { runSteps } from '../../base/steps.ts';
import { typeOf } from '../../resource/type-registry.ts';
import { nameText, type Resource } from '../../resource/types.ts';
import { planWrites, type PlanInput, type SyncWrite } from './diff-response.ts';
import type { Incoming } from './incoming.ts';
import type { NackedResource } from '../protocol/nack.ts';
import type { ReceiveRules } from '../protocol/rules.ts';

const TYPE = 'MeshExternalService';
const owner = { type: 'Zone', mesh: '', name: 'east' };

/** Rows with the label `mine` are in scope. A new row must have the name of its label `named`, if it has one. */
const rules: ReceiveRules = {
  ...{ by: 'global', types: [typeOf(TYPE)], scope: {}, status: 'take', ownerOnCreate: owner, rewrite: (resource) => resource },
  storedName: (name) => name,
  inScope: ({ labels }) => labels['mine'] === 'yes',
  replaces: ({ name }) => name === 'list',
  requiredName: ({ labels }) => labels['named'] ?? null,
  holderOf: () => 'global',
};

const resource = (name: string, fields: Partial<Incoming> = {}): Incoming => ({
  ...{ type: TYPE, name, mesh: 'default', labels: { mine: 'yes' }, spec: { a: 1 }, status: { b: 1 }, version: 'v2', bytes: 10 },
  ...fields,
});
const row = (name: string, fields: Partial<Resource> = {}): Resource =>
  makeRow(TYPE, name, { labels: { mine: 'yes' }, spec: { a: 1 }, status: { b: 1 }, syncVersion: 'v2', version: 5, ...fields });

type Given = { readonly incoming?: Incoming[]; readonly stored?: Resource[]; readonly gone?: Resource[] };

function plan({ incoming = [], stored = [], gone = [] }: Given, more: Partial<PlanInput> = {}): ReturnType<typeof run> {
  return run({
    ...{ info: typeOf(TYPE), rules, gone, exactVersions: false },
    incoming: new Map(incoming.map((one) => [nameText(one), one])),
    stored: new Map(stored.map((one) => [nameText(one), one])),
    ...more,
  });
}

function run(input: PlanInput): { writes: SyncWrite[]; refusals: NackedResource[] } {
  return runSteps(planWrites(input));
}

describe('a resource of a response', () => {
  const key = { type: TYPE, mesh: 'default', name: 'a' };

  it('creates a row with its status, its version and the owner of the peer', () => {
    expect(plan({ incoming: [resource('a')] }).writes).toEqual([
      { op: 'create', key, labels: { mine: 'yes' }, spec: { a: 1 }, status: { b: 1 }, syncVersion: 'v2', owner },
    ]);
    expect(plan({ incoming: [resource('a', { status: undefined })] }).writes).toMatchObject([{ status: {} }]);
  });

  it('gives no status where the receiver keeps its own', () => {
    const kept = { rules: { ...rules, status: 'keep' } as const };
    expect(plan({ incoming: [resource('a')] }, kept).writes[0]).not.toHaveProperty('status');
    expect(plan({ incoming: [resource('a')], stored: [row('a', { status: { b: 2 } })] }, kept).writes).toEqual([]);
  });

  it.each<[string, Partial<Resource>, Partial<Incoming>, boolean]>([
    ['equal', {}, {}, false],
    ['of another version and the same content', { syncVersion: 'v1' }, {}, false],
    ['of another version with another spec', { syncVersion: 'v1', spec: { a: 2 } }, {}, true],
    ['of another version with other labels', { syncVersion: 'v1', labels: { mine: 'yes', more: 'b' } }, {}, true],
    ['without a version and with another spec', { syncVersion: null, spec: {} }, {}, true],
    ['of the same version with another status', { status: { b: 2 } }, {}, true],
    ['with a status that the peer does not have', {}, { status: undefined }, true],
    ['without a status, as the peer has it', { status: {} }, { status: undefined }, false],
  ])('updates a row that is %s or leaves it', (_, stored, incoming, isWritten) => {
    const { writes } = plan({ incoming: [resource('a', incoming)], stored: [row('a', stored)] });
    expect(writes.map(({ op }) => op)).toEqual(isWritten ? ['update'] : []);
    if (isWritten) expect(writes[0]).toMatchObject({ expectVersion: 5, syncVersion: 'v2' });
  });

  it('updates a row of another version and the same content where the peer resumes by versions', () => {
    const given = { incoming: [resource('a')], stored: [row('a', { syncVersion: 'v1' })] };
    expect(plan(given, { exactVersions: true }).writes).toMatchObject([{ op: 'update', syncVersion: 'v2' }]);
  });

  it('replaces a row out of scope where the rules say so, and does not delete it', () => {
    const own = row('list', { labels: {}, syncVersion: null });
    const { writes, refusals } = plan({ incoming: [resource('list')], stored: [own] });
    expect([writes, refusals]).toMatchObject([[{ op: 'update', expectVersion: 5, syncVersion: 'v2' }], []]);
    expect(plan({ gone: [own] }).writes).toEqual([]);
  });

  it('is refused where a row out of scope has its name, and where its labels want another name', () => {
    const taken = plan({ incoming: [resource('a')], stored: [row('a', { labels: {} })] });
    expect([taken.writes, taken.refusals]).toEqual([[], [{ ...key, reason: 'resource already exists, it belongs to global' }]]);
    const labels = { mine: 'yes', named: 'b' };
    const misnamed = plan({ incoming: [resource('a', { labels })] });
    expect(misnamed.writes).toEqual([]);
    expect(misnamed.refusals.map(({ reason }) => reason)).toEqual([expect.stringContaining('name: must be "b"')]);
    expect(plan({ incoming: [resource('b', { labels })] }).refusals).toEqual([]);
    expect(plan({ incoming: [resource('a', { labels })], stored: [row('a', { labels, spec: {} })] }).writes).toHaveLength(0);
    expect(plan({ incoming: [resource('a', { labels, version: 'v3' })], stored: [row('a')] }).writes).toHaveLength(1);
  });
});

describe('a row that the peer does not have', () => {
  it('is deleted in its version, unless it is out of scope or comes again', () => {
    const gone = [row('a'), row('b', { labels: {} }), row('c')];
    const { writes } = plan({ gone, incoming: [resource('c')], stored: [row('c')] });
    expect(writes).toEqual([{ op: 'delete', key: { type: TYPE, mesh: 'default', name: 'a' }, expectVersion: 5 }]);
  });
});
