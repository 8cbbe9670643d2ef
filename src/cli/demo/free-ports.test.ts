import { expect, it } from 'vitest';
import { findFreePorts } from './free-ports.ts';

it('no port is given twice, and all are between those of the tests and the NodePorts of Kubernetes', async () => {
  const ports = [...(await findFreePorts(20)), ...(await findFreePorts(20))];
  expect(new Set(ports).size).toBe(40);
  expect(ports.filter((port) => port < 28_000 || port >= 30_000)).toEqual([]);
});
