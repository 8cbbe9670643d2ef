// Converts every folder of `cases/` and compares the result with the reviewed files; `UPDATE_GOLDEN=1` rewrites them.
import { describe, expect, it } from 'vitest';
import { fromMeshRoute } from '../../src/gateway-api/from-mesh-route.ts';
import { parseRoute } from '../../src/gateway-api/parse-route.ts';
import { toMeshRoutes } from '../../src/gateway-api/to-mesh-routes.ts';
import { checkSpec } from '../../src/validation/check-spec.ts';
import { typeOf } from '../../src/resource/type-registry.ts';
import { caseNames, expectedText, readCase, textsOf, writeExpected } from './case-folder.ts';

describe.each(caseNames)('%s', (name) => {
  it('is converted to the expected resources', () => {
    for (const [file, text] of textsOf(readCase(name))) {
      if (process.env['UPDATE_GOLDEN'] === '1') writeExpected(name, file, text);
      expect(text, file).toBe(expectedText(name, file));
    }
  });

  it('gives resources that are valid in their schemas', () => {
    for (const { type, ...resource } of readCase(name).conversion.resources)
      expect(checkSpec(typeOf(type), resource, { strict: true }).violations).toEqual([]);
  });

  it('is converted back to a Gateway API route that gives the same resources', () => {
    const { conversion, resolve } = readCase(name);
    for (const route of conversion.resources.filter(({ type }) => type !== 'MeshTimeout')) {
      const timeout = conversion.resources.find(({ type, name }) => type === 'MeshTimeout' && name === route.name);
      const inverse = fromMeshRoute(route, { timeout, resolve });
      if ('violations' in inverse) throw new Error(JSON.stringify(inverse.violations, null, 2));
      const parsed = parseRoute(inverse.document);
      if ('violations' in parsed) throw new Error(JSON.stringify(parsed.violations, null, 2));
      const again = toMeshRoutes(parsed.route, resolve).resources;
      expect(again).toEqual(timeout === undefined ? [route] : [route, timeout]);
    }
  });
});
