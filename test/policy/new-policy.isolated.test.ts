// The example of docs/new-policy.md: its code is compiled with the product, and one row puts it into the listeners.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { collectViolations } from '../../src/base/violations.ts';
import type { ConfsInForce } from '../../src/policies/parts.ts';
import { httpConnectionManager } from '../../src/xds/http-connection.ts';
import { objectOf } from '../../src/resource/read-json.ts';
import { Findings } from '../../src/schema/findings.ts';
import { addSchemaViolations } from '../../src/schema/schema-violations.ts';
import type { meshServerHeader } from './new-policy/mesh-server-header/policy.ts';
import { meshServerHeaderSpec, type ServerHeader } from './new-policy/mesh-server-header/spec.ts';

type Registry = { policyDefinitions: Record<string, unknown> };
type Example = { meshServerHeader: typeof meshServerHeader };

vi.mock('../../src/policies/registry.ts', async (importOriginal) => {
  const { policyDefinitions } = await importOriginal<Registry>();
  const { meshServerHeader: row } = await vi.importActual<Example>('./new-policy/mesh-server-header/policy.ts');
  return { policyDefinitions: { ...policyDefinitions, MeshServerHeader: row } };
});

const FOLDER = join(import.meta.dirname, 'new-policy/mesh-server-header');

it.each(['spec.ts', 'envoy.ts', 'policy.ts'])('the page shows %s as it is compiled', (name) => {
  const page = readFileSync(join(import.meta.dirname, '../../docs/new-policy.md'), 'utf8');
  const text = readFileSync(join(FOLDER, name), 'utf8')
    .replaceAll('../../../../src/policies/', '../')
    .replaceAll('../../../../src/', '../../');
  expect(page).toContain(`\`\`\`ts\n${text}\`\`\``);
});

it.each<['Overwrite' | 'PassThrough' | undefined, string | undefined]>([
  [undefined, undefined],
  ['Overwrite', undefined],
  ['PassThrough', 'PASS_THROUGH'],
])('with one row, a listener under the mode %s has the transformation %s', (mode, expected) => {
  const conf: ServerHeader = mode === undefined ? {} : { mode };
  // The type of the example is in no table of the product.
  const confOf: ConfsInForce = (type) => ((type as string) === 'MeshServerHeader' ? (conf as object) : {});
  const manager = httpConnectionManager({
    ...{
      name: 'in',
      protocol: 'http',
      direction: 'inbound',
      confOf,
      accessLog: [],
      tracing: null,
      filtersFirst: [],
      filters: [],
    },
  });
  expect(objectOf(manager['typedConfig'])['serverHeaderTransformation']).toBe(expected);
});

it('the schema of the example refuses other modes by their field', () => {
  const violations = collectViolations((refuse) =>
    addSchemaViolations(meshServerHeaderSpec, { rules: [{ default: { mode: 'Remove' } }] }, new Findings(refuse)),
  );
  expect(violations.map(({ field }) => field)).toEqual(['spec.rules[0].default.mode']);
});
