import { describe, expect, it } from 'vitest';
import type { Item } from '../client/api-client.ts';
import { plaintextLines, tlsCell } from './mesh-tls-text.ts';

type Counts = readonly [strict: number, permissive: number, plaintext: number];

function meshWith([strict, permissive, plaintext]: Counts, more: object = {}): Item {
  const services = { total: strict + permissive + plaintext, strict, permissive, plaintext };
  const tls = {
    mesh: 'shop',
    expectedBy: ['MeshIdentity', 'MeshTLS'],
    services,
    items: [],
    withdrawals: [],
    total: permissive + plaintext,
    ...more,
  };
  return { type: 'MeshInsight', name: 'shop', tls };
}

describe('TLS of a mesh, in words', () => {
  it.each<[string, Counts]>([
    ['-', [0, 0, 0]],
    ['strict', [3, 0, 0]],
    ['plaintext', [0, 0, 3]],
    ['0/3 strict', [0, 1, 2]],
    ['2/3 strict', [2, 1, 0]],
  ])('is %j in the table for %j', (cell, counts) => {
    expect(tlsCell(meshWith(counts))).toBe(cell);
  });

  it('says of how many services it is not known', () => {
    const none = meshWith([0, 0, 0], { services: { total: 3, strict: 0, permissive: 0, plaintext: 0, unknown: 3 }, total: 3 });
    expect(tlsCell(none)).toBe('unknown');
    expect(plaintextLines(none).slice(0, 2)).toEqual(['', 'shop: whether 3 of 3 services take plain text is not known here']);
    const some = meshWith([0, 0, 0], { services: { total: 3, strict: 1, permissive: 1, plaintext: 0, unknown: 1 }, total: 2 });
    expect(tlsCell(some)).toBe('1/3 strict, 1 unknown');
    expect(plaintextLines(some)[1]).toBe(
      'shop: 1 of 3 services take plain text, although the mesh has MeshIdentity and MeshTLS; ' +
        'whether 1 of 3 services take plain text is not known here',
    );
  });

  it('is unknown without an answer', () => {
    const item = { type: 'MeshInsight', name: 'shop' };
    expect([tlsCell(item), plaintextLines(item)]).toEqual(['-', []]);
  });

  it('names the services that take plain text, their zones and the reasons', () => {
    const items = [
      { service: { name: 'cart' }, zone: 'east', tls: 'permissive', reason: 'called in plain text by web-1' },
      { service: { name: 'ca\nrt' }, zone: '', tls: 'plaintext', reason: 'without a certificate of the mesh: cart-1' },
    ];
    expect(plaintextLines(meshWith([1, 2, 1], { items }))).toEqual([
      '',
      'shop: 3 of 4 services take plain text, although the mesh has MeshIdentity and MeshTLS',
      '  cart in east: permissive: called in plain text by web-1',
      '  ca\\nrt: plaintext: without a certificate of the mesh: cart-1',
      '  and 1 more: GET /meshes/shop/_tls',
    ]);
  });

  it('names the identities that go', () => {
    const withdrawals = [
      { name: 'identity', storedName: 'x', step: 'clients', since: '', until: '', services: 2, waiting: 2, waitsFor: ['cart-1'] },
      { name: 'other', storedName: 'y', step: 'trust', since: '', until: '', services: 0, waiting: 0, waitsFor: [] },
    ];
    expect(plaintextLines(meshWith([1, 0, 0], { withdrawals }))).toEqual([
      '',
      'shop:',
      '  MeshIdentity identity is withdrawn: clients: their clients change to plain text; waits for cart-1 and 1 more',
      '  MeshIdentity other is withdrawn: trust: no proxy has it; its authority is trusted until the last certificate has ended',
    ]);
  });

  it('has no lines where all services are strict, or where plain text is expected', () => {
    expect(plaintextLines(meshWith([2, 0, 0]))).toEqual([]);
    expect(plaintextLines(meshWith([0, 0, 2], { expectedBy: [] }))).toEqual([]);
  });
});
