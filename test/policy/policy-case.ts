// A policy case is a folder: `NN-<global or a zone>.yaml` has the documents to apply there, `expect.yaml` the answers about named
// proxies. Invariant: global and the proxy's zone both give the expected text; it has no stored names and no times.
import { runSteps } from '../../src/base/steps.ts';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { readDocuments } from '../../src/cli/documents/read-files.ts';
import { buildRules } from '../../src/policy/build-rules.ts';
import { routePoliciesView, routesView } from '../../src/policy/inspect-view.ts';
import { MeshIndex } from '../../src/policy/mesh-index.ts';
import { outboundsOf } from '../../src/policy/proxy-outbounds.ts';
import { objectOf, objectsOf, textOf } from '../../src/resource/read-json.ts';
import { rulesView } from '../../src/policy/rules-view.ts';
import { computeLabels } from '../../src/resource/compute-labels.ts';
import { hashName } from '../../src/resource/hash-name.ts';
import { kriOf } from '../../src/resource/kri.ts';
import { displayNameOf, label } from '../../src/resource/labels.ts';
import type { Json, JsonObject, Labels, Resource } from '../../src/resource/types.ts';
import { makeRow } from '../support/make-row.ts';

/** Folder of all cases. */
export const casesFolder = join(import.meta.dirname, 'cases');

/** `global`, or the name of a zone. */
export type Side = string;
export type PolicyCase = { readonly name: string; readonly resources: readonly { side: Side; resource: Resource }[] };

export function caseNames(): string[] {
  return readdirSync(casesFolder).sort();
}

export async function readCase(name: string): Promise<PolicyCase> {
  const folder = join(casesFolder, name);
  const files = readdirSync(folder).filter((file) => /^\d\d-[a-z0-9-]+\.yaml$/.test(file));
  const resources: { side: Side; resource: Resource }[] = [];
  for (const file of files.sort()) {
    const side = file.slice(3, -'.yaml'.length);
    for (const { info, mesh, name: displayName, body } of await readDocuments([join(folder, file)], 'default')) {
      const spec = info.codec.kind === 'json' ? objectOf(body['spec']) : { networking: body['networking'] ?? null };
      const labels = objectOf(body['labels']) as Record<string, string>;
      const writer = {
        mode: side === 'global' ? 'global' : 'zone',
        zone: side === 'global' ? null : side,
        federated: true,
      } as const;
      const computed = computeLabels(info, { displayName, mesh, labels, spec }, writer);
      const namespace = computed[label.namespace];
      const stored = namespace === undefined ? displayName : `${displayName}.${namespace}`;
      resources.push({ side, resource: makeRow(info.name, stored, { mesh, labels: computed, spec }) });
    }
  }
  return { name, resources };
}

/** The content of one side's store when all are in step: copies under hashed names, with the origin on that side (kds-wire 5). */
export function storeOf({ resources }: PolicyCase, side: Side): Resource[] {
  return resources.flatMap(({ side: home, resource }) => {
    if (home === side) return [resource];
    const isShared = side === 'global' || home === 'global' || resource.type === 'MeshService' || isProducer(resource);
    if (!isShared) return [];
    const origin = side === 'global' ? 'zone' : 'global';
    const { type, mesh, labels, spec } = resource;
    const name = hashName({ mesh, name: displayNameOf(resource), zone: labels[label.zone], namespace: labels[label.namespace] });
    return [makeRow(type, name, { mesh, labels: { ...labels, [label.origin]: origin }, spec })];
  });
}

/** The zones of a case. */
export function zonesOf({ resources }: PolicyCase): string[] {
  return [...new Set(resources.map(({ side }) => side))].filter((side) => side !== 'global').sort();
}

/**
 * The answers about the proxies of a case, in short: for each proxy its `_rules` by type and key, and for each outbound what is in
 * force on its routes (D37). Each side answers for the proxies that it knows.
 */
export function answersOf(given: PolicyCase, side: Side): ReadonlyMap<string, JsonObject> {
  const index = indexOf(storeOf(given, side));
  const proxies = [...index.proxies()].sort((a, b) => (a.kri < b.kri ? -1 : 1));
  return new Map(
    proxies.map((proxy) => {
      const rules = buildRules(index, proxy);
      const outbounds = outboundsOf(index, proxy).flatMap(({ kri }) => {
        const routes = objectsOf(routesView(index, rules, kri)?.['routes']).flatMap((ofKind) => objectsOf(ofKind['rules']));
        const kris = [...new Set(routes.map((rule) => textOf(rule['kri'])))].filter((route) => route !== '');
        if (kris.length === 0) return [];
        const inForce = kris.map((route): [string, Json] => [route, shortPolicies(routePoliciesView(index, rules, kri, route))]);
        return [[kri, Object.fromEntries(inForce)] as const];
      });
      const routes = outbounds.length > 0 && { routes: Object.fromEntries(outbounds) };
      return [proxy.displayName, { rules: shortRules(runSteps(rulesView(rules))), ...routes }];
    }),
  );
}

/** Groups proxies with the same answers. */
export function groupAnswers(answers: ReadonlyMap<string, JsonObject>): Json {
  const groups = new Map<string, { proxies: string[]; answer: JsonObject }>();
  for (const [proxy, answer] of answers) {
    const key = JSON.stringify(answer);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { proxies: [proxy], answer });
    else group.proxies.push(proxy);
  }
  return [...groups.values()].map(({ proxies, answer }) => ({ proxies, ...answer }));
}

export function rolesOf({ resources }: PolicyCase): Json {
  return Object.fromEntries(
    resources.flatMap(({ resource }) => {
      const isPolicy = resource.spec['to'] !== undefined || resource.spec['rules'] !== undefined;
      return isPolicy ? [[kriOf(resource) ?? '', resource.labels[label.policyRole] ?? 'system']] : [];
    }),
  );
}

export function readExpected(name: string): JsonObject {
  return parse(readFileSync(join(casesFolder, name, 'expect.yaml'), 'utf8')) as JsonObject;
}

export function writeExpected(name: string, value: JsonObject): void {
  writeFileSync(
    join(casesFolder, name, 'expect.yaml'),
    stringify(value, { singleQuote: true, lineWidth: 0, aliasDuplicateObjects: false }),
  );
}

/** An index of the mesh that the rows are in. */
export function indexOf(rows: readonly Resource[]): MeshIndex {
  return new MeshIndex(rows.find(({ type }) => type === 'Dataplane')?.mesh ?? 'default', rows);
}

function isProducer({ labels }: Resource): boolean {
  return labels[label.policyRole] === 'producer';
}

/** `_rules` by type and KRI: `{conf, origin: [«name» #index]}`. */
function shortRules(view: JsonObject): JsonObject {
  return Object.fromEntries(
    objectsOf(view['rules']).map((ofType) => {
      const keys = objectsOf(ofType['toResourceRules']).map((rule): [string, Json] => {
        const meta = rule['resourceMeta'] as { type: string; mesh: string; name: string; labels: Labels };
        return [kriOf(meta, textOf(rule['resourceSectionName'])) ?? '', short(rule)];
      });
      const old = objectsOf(ofType['toRules']).map(short);
      const warnings = ofType['warnings'] as Json[];
      return [
        textOf(ofType['type']),
        { ...Object.fromEntries(keys), ...(old.length > 0 && { old }), ...(warnings.length > 0 && { warnings }) },
      ];
    }),
  );
}

function short(rule: JsonObject): JsonObject {
  const origin = objectsOf(rule['origin']).map(
    (item) => `${displayNameOf(item['resourceMeta'] as { name: string; labels: Labels })} #${String(item['ruleIndex'])}`,
  );
  const [conf = null, ...more] = rule['conf'] as Json[];
  return { conf: more.length > 0 ? [conf, ...more] : conf, origin };
}

function shortPolicies(view: JsonObject | null): JsonObject {
  return Object.fromEntries(
    objectsOf(view?.['policies']).map((policy) => [textOf(policy['kind']), (policy['conf'] as Json[])[0] ?? null]),
  );
}
