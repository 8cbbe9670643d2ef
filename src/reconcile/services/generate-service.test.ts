// The Dataplanes that decide the content of a generated MeshService.
import { expect, it } from 'vitest';
import { generateService } from './generate-service.ts';
import type { Membership } from './service-groups.ts';

it('a generated service selects proxies by tag only, when some name it by a tag and others by a label', () => {
  const member = (by: Membership['by'], name: string, port: number, created: number): Membership => ({
    ...{ by, service: 'web', name, created, ports: [{ port }] },
  });
  const members = [member('workload', 'old', 1, 1), member('tag', 'new', 2, 2)];
  const generated = generateService({
    ...{ mesh: 'default', zone: 'east', service: 'web', members, stored: undefined, now: new Date(0), graceMs: 1 },
  });
  expect(generated.want).toMatchObject({
    spec: { ports: [{ port: 2 }], selector: { dataplaneTags: { 'kuma.io/service': 'web' } } },
  });
  expect(generated.conflicting).toEqual([]);
});
