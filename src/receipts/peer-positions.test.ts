import { expect, it } from 'vitest';
import { PeerPositions, roomFor } from './peer-positions.ts';

it('the positions of a peer grow, for each type of its own, until the peer begins again', () => {
  const positions = new PeerPositions();
  expect(positions.of('sent', 'Mesh', 3)).toBe(0);
  expect(positions.raise('sent', 'Mesh', 3, 7)).toBe(0);
  expect(positions.raise('sent', 'Mesh', 3, 5)).toBe(7);
  expect(positions.raise('acknowledged', 'Mesh', 3, 2)).toBe(0);
  positions.raise('sent', 'Zone', 3, 1);
  positions.raise('sent', 'Mesh', 4_000, 9);
  expect(['Mesh', 'Zone'].map((type) => positions.of('sent', type, 3))).toEqual([7, 1]);
  expect([3, 4_000, 5_000].map((index) => positions.of('acknowledged', 'Mesh', index))).toEqual([2, 0, 0]);
  positions.clear(3);
  expect(['Mesh', 'Zone'].map((type) => positions.of('sent', type, 3))).toEqual([0, 0]);
  expect(positions.of('sent', 'Mesh', 4_000)).toBe(9);
});

it('the room for peers grows by a tenth', () => {
  expect([roomFor(0, 16), roomFor(16, 16), roomFor(100, 16)]).toEqual([16, 48, 101]);
  expect(roomFor(10_000, 10_000)).toBe(11_024);
});
