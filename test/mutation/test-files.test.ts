import { expect, it } from 'vitest';
import { projectOf } from '../../scripts/mutation/test-files.ts';

it.each([
  ['src/kds/sender.test.ts', 'unit'],
  ['test/gui/page.gui.test.ts', 'gui'],
  ['test/store/postgres.pg.test.ts', 'postgres'],
  ['test/envoy/zones.envoy.test.ts', 'envoy'],
  ['test/writes/put-way.isolated.test.ts', 'isolated'],
  ['test/architecture.test.ts', null],
  ['src/kds/sender/sender.ts', null],
])('%s belongs to the project %s', (file, project) => {
  expect(projectOf(file)).toBe(project);
});
