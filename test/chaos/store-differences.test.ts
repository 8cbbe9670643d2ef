// The comparison of a zone without a database: what it lacks, what it should not have, and other versions than a zone has stored.
import { describe, expect, it } from 'vitest';
import { inZone, onGlobal, wireName, type Row } from './expected-rows.ts';
import { differences, type Guest, type Store } from './store-differences.ts';

const POLICY: Row = {
  ...{ type: 'MeshTimeout', mesh: 'default', name: 'slow', labels: {}, spec: { n: 1 }, status: {}, owner: null, isCopy: false },
};
const SERVICE: Row = { ...POLICY, type: 'MeshService', name: 'of-guest', spec: { ports: [], state: 'Unavailable' } };
const COPY = inZone(POLICY);
const COPY_NAME = `${COPY.name}.default`;
const SERVICE_ON_GLOBAL = onGlobal(SERVICE, 'guest');

/** @param version of each copy */
function storeOf(rows: readonly Row[], version = 'v1'): Store {
  const stored = rows.map((row) => ({
    ...row,
    spec: JSON.stringify(row.spec),
    syncVersion: row.isCopy ? version : null,
  }));
  return { query: async () => ({ rows: stored }) };
}

async function differencesWith(held: Readonly<Record<string, string>>, own: readonly Row[] = []): Promise<string[]> {
  const guest: Guest = { zone: 'guest', own, held: new Map([['MeshTimeout', new Map(Object.entries(held))]]) };
  const global = storeOf([POLICY, ...own.map((row) => onGlobal(row, 'guest'))]);
  const ofService = own.map((row) => ({ ...inZone(onGlobal(row, 'guest')), status: { vips: [{ ip: '241.0.0.1' }] } }));
  return await differences({ global, zones: [{ zone: 'east', store: storeOf([COPY, ...ofService]) }], guests: [guest] });
}

describe('the resources of a zone without a database', () => {
  it('are right with the name and the version of each copy', async () => {
    expect(await differencesWith({ [COPY_NAME]: 'v1' })).toEqual([]);
  });

  it('are wrong without a resource, with one too many, and with another version', async () => {
    expect(await differencesWith({})).toEqual([`zone guest lacks MeshTimeout/default/${COPY.name}`]);
    expect(await differencesWith({ [COPY_NAME]: 'v1', 'gone.default': 'v1' })).toEqual([
      'zone guest should not have MeshTimeout gone.default',
    ]);
    expect(await differencesWith({ [COPY_NAME]: 'v0' })).toEqual([
      `zone guest has version v0 of MeshTimeout/default/${COPY.name}, not v1`,
    ]);
  });

  it('are on global when they are its own, and not sent back to it', async () => {
    expect(await differencesWith({ [COPY_NAME]: 'v1' }, [SERVICE])).toEqual([]);
    const guest: Guest = { zone: 'guest', own: [SERVICE], held: new Map() };
    expect(await differences({ global: storeOf([]), zones: [], guests: [guest] })).toEqual([
      `global lacks MeshService/default/${SERVICE_ON_GLOBAL.name}`,
    ]);
    expect(SERVICE_ON_GLOBAL.name).toBe(wireName({ ...SERVICE, labels: SERVICE_ON_GLOBAL.labels }));
  });
});
