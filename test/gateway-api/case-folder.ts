// A golden case of the conversion: a route, the services of its mesh, and the expected resources.
// Invariant: the expected texts depend only on these two files; the time is fixed and the zone is east.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, parseAllDocuments, stringify } from 'yaml';
import type { GatewayRoute } from '../../src/gateway-api/gateway-route.ts';
import { parseRoute } from '../../src/gateway-api/parse-route.ts';
import { type Resolver, serviceResolver, type StoredService } from '../../src/gateway-api/service-resolver.ts';
import { routeStatus } from '../../src/gateway-api/route-status.ts';
import { type Conversion, toMeshRoutes } from '../../src/gateway-api/to-mesh-routes.ts';

const casesFolder = join(import.meta.dirname, 'cases');

export const caseNames = readdirSync(casesFolder).sort();

export type Case = { readonly route: GatewayRoute; readonly resolve: Resolver; readonly conversion: Conversion };

/** @throws Error when the route of the case has violations: invalid input has separate tables */
export function readCase(name: string): Case {
  const parsed = parseRoute(parse(readFileSync(join(casesFolder, name, 'route.yaml'), 'utf8')));
  if ('violations' in parsed) throw new Error(parsed.violations.map(({ field, reason }) => `${field}: ${reason}`).join('\n'));
  const services = parseAllDocuments(readFileSync(join(casesFolder, name, 'services.yaml'), 'utf8'));
  const stored = services.map((document) => document.toJS() as StoredService);
  const resolve = serviceResolver(stored, parsed.route.mesh, 'east');
  return { route: parsed.route, resolve, conversion: toMeshRoutes(parsed.route, resolve) };
}

/** Name of the expected file → result of the conversion. */
export function textsOf({ conversion }: Case): Map<string, string> {
  const status = routeStatus(conversion, { former: {}, now: new Date('2026-01-01T00:00:00Z') });
  return new Map([
    ['expect.resources.yaml', conversion.resources.map((resource) => textOf(resource)).join('---\n')],
    ['expect.status.yaml', textOf(status)],
  ]);
}

/** The text of an expected file, laid out as `textsOf` does. */
export function expectedText(name: string, file: string): string {
  const documents = parseAllDocuments(readFileSync(join(casesFolder, name, file), 'utf8'));
  return documents.map((document) => textOf(document.toJS())).join('---\n');
}

export function writeExpected(name: string, file: string, text: string): void {
  writeFileSync(join(casesFolder, name, file), text);
}

function textOf(value: unknown): string {
  return stringify(value, { singleQuote: true, lineWidth: 0, aliasDuplicateObjects: false });
}
