// The effective conf as text, within 80 columns where names allow. Equal conf of many outbounds is printed once.
import { visibleLine } from '../../base/visible-text.ts';
import { objectOf, objectsOf, textOf } from '../../resource/read-json.ts';
import type { Json, JsonObject } from '../../resource/types.ts';
import type { Answer } from '../../answers/answers.ts';
import { longName, shortName } from './kri-text.ts';
import { proxyProblemLines } from './proxy-problem-text.ts';
import { table } from './table.ts';

type Effective = Answer<'Effective'>;
type Outbound = Effective['outbounds'][number];
type Route = Outbound['routes'][number];
type Policy = Outbound['policies'][number];
type Value = Policy['values'][number];
type Inbound = Effective['inbounds'][number];
type Origin = Value['origins'][number];

type Style = { readonly wide: boolean };

/** The width at which a value continues on the next line, and the length of a list of outbounds, without wide. */
const VALUE_WIDTH = 28;
const MAX_NAMES = 3;

export function describeEffective(
  { kri, warnings, problems = [], policies, inbounds, outbounds }: Effective,
  mesh: string,
  style: Style,
): string {
  const lines = [longName(kri, mesh), kri];
  for (const warning of warnings) lines.push('', ...wrap(visibleLine(`warning: ${warning}`), 80));
  for (const problem of problems) lines.push('', ...proxyProblemLines(problem, mesh));
  if (policies.length > 0) {
    const rows = policies.flatMap(({ kind, conf, origins }) => rowsOf(kind, conf, names(origins, mesh), style));
    lines.push('', 'WHOLE PROXY', ...indent(1, table(['POLICY', 'CONF', 'FROM'], rows)));
  }
  for (const inbound of inbounds) lines.push('', ...inboundLines(inbound, mesh, style));
  for (const group of grouped(outbounds)) lines.push('', ...outboundLines(group, mesh, style));
  if (outbounds.length === 0) lines.push('', 'no outbounds');
  return lines.join('\n');
}

function inboundLines({ kri, type, port, protocol, policies }: Inbound, mesh: string, style: Style): string[] {
  const section = kri.slice(kri.lastIndexOf('_') + 1);
  const head = `${type.toUpperCase()} ${section}: port ${String(port)}${protocol === '' ? '' : `, ${protocol}`}`;
  if (policies.length === 0) return [`${head}: no policies`];
  return [
    head,
    ...policies.flatMap(({ kind, rules }) =>
      rules.flatMap(({ match, conf, origin }) => {
        const clients =
          match === undefined
            ? 'all requests'
            : leaves(match)
                .map(([, value]) => plain(value))
                .join(' ');
        const rows = leaves(conf).flatMap(([path, value]) =>
          cellLines(value, style).map((line, at) => [at === 0 ? path : '', line]),
        );
        return [
          ...indent(1, `${kind}, for ${visibleLine(clients)}, from ${names([origin], mesh)}`),
          ...indent(2, table(['FIELD', 'VALUE'], rows)),
        ];
      }),
    ),
  ];
}

/** The leaf values of an object, with their paths. */
function leaves(object: JsonObject, prefix = ''): [path: string, value: Json][] {
  return Object.entries(object).flatMap(([key, value]): [string, Json][] =>
    typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length > 0
      ? leaves(value, `${prefix}${key}.`)
      : [[prefix + key, value]],
  );
}

/** The outbounds in groups of equal conf. */
function grouped(outbounds: readonly Outbound[]): Outbound[][] {
  const groups = new Map<string, Outbound[]>();
  for (const outbound of outbounds) {
    const { policies, routes, protocol } = outbound;
    // Compare the conf of a rule, not its key: the key differs for each outbound.
    const conf = [policies.map(({ kind, level, values }) => [kind, level, values]), routes, protocol];
    const key = JSON.stringify(conf);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [outbound]);
    else group.push(outbound);
  }
  return [...groups.values()];
}

function outboundLines(group: readonly Outbound[], mesh: string, style: Style): string[] {
  const [first] = group;
  if (first === undefined) return [];
  const shown = style.wide ? group : group.slice(0, MAX_NAMES);
  const lines = shown.map(({ kri, port }, at) => {
    const head = at === 0 ? 'OUTBOUND' : '        ';
    return `${head} ${longName(kri, mesh)}: port ${String(port)}, ${first.protocol}`;
  });
  const more = group.length - shown.length;
  if (more > 0) lines.push(`         and ${String(more)} more with the same conf (-o wide names them)`);
  if (first.policies.length === 0) lines.push('  no policies');
  for (const policy of first.policies) lines.push(...policyLines(policy, 1, mesh, style));
  for (const route of first.routes) lines.push(...routeLines(route, mesh, style));
  return lines;
}

/** A route shows only its own conf. The outbound's conf applies to the rest (the first key with conf is used alone). */
function routeLines({ kri, matches, note, policies, conf }: Route, mesh: string, style: Style): string[] {
  const lines = [
    `  ROUTE ${longName(kri, mesh)}: ${matches === null ? 'tcp' : matches.map(describeMatch).join(' or ') || 'all'}`,
  ];
  if (note !== undefined) return [...lines, ...wrap(visibleLine(`no effect: ${note}`), 76).map((line) => `    ${line}`)];
  for (const line of backendTexts(conf, mesh)) lines.push(...wrap(line, 76).map((part) => `    ${part}`));
  const own = policies.filter(({ level }) => level === 'route' || level === 'old route');
  for (const policy of own) lines.push(...policyLines(policy, 2, mesh, style));
  const others = policies.filter((policy) => !own.includes(policy)).map(({ kind }) => kind);
  if (others.length > 0) lines.push(...wrap(`as on the outbound: ${others.join(', ')}`, 76).map((line) => `    ${line}`));
  return lines;
}

/** `to cart-v1 90 %, cart-v2 10 %`; a route without backends sends to its own service. */
function backendTexts(conf: Json, mesh: string): string[] {
  const { backendRefs, filters } = objectOf(conf);
  const backends = objectsOf(backendRefs);
  const weightOf = ({ weight }: JsonObject): number => (typeof weight === 'number' ? weight : 1);
  const total = backends.reduce((sum, backend) => sum + weightOf(backend), 0);
  const shares = backends.map((backend) => {
    const share = total === 0 ? 0 : (100 * weightOf(backend)) / total;
    return `${backendName(backend, mesh)}${backends.length === 1 ? '' : ` ${String(Math.round(share * 10) / 10)} %`}`;
  });
  const mirrors = objectsOf(filters).flatMap(({ requestMirror }) => {
    const { backendRef, percentage } = objectOf(requestMirror);
    if (backendRef === undefined) return [];
    return [`${backendName(objectOf(backendRef), mesh)}${percentage === undefined ? '' : ` ${plain(percentage)} %`}`];
  });
  return [
    ...(shares.length > 0 ? [visibleLine(`to ${shares.join(', ')}`)] : []),
    ...(mirrors.length > 0 ? [visibleLine(`mirrored to ${mirrors.join(', ')}`)] : []),
  ];
}

function backendName({ kind, name, labels, namespace, port, sectionName, tags, mesh: other }: JsonObject, mesh: string): string {
  const pairs = [...Object.entries(objectOf(labels)), ...Object.entries(objectOf(tags))].map(
    ([key, value]) => `${key}=${plain(value)}`,
  );
  const called = textOf(name) === '' ? '' : `${textOf(name)}${textOf(namespace) === '' ? '' : `.${textOf(namespace)}`}`;
  const selected = pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
  const section = port === undefined ? textOf(sectionName) : plain(port);
  const where = textOf(other) === '' || other === mesh ? '' : ` of mesh ${textOf(other)}`;
  const of = kind === 'MeshService' || kind === undefined ? '' : `${textOf(kind)} `;
  return `${of}${called}${selected}${section === '' ? '' : `:${section}`}${where}`;
}

function policyLines({ kind, level, values, note }: Policy, depth: number, mesh: string, style: Style): string[] {
  const unused = unusedHashLists(values);
  const rows = values.flatMap(({ path, value, origins }) =>
    rowsOf(unused.has(path) ? `${path} (not used)` : path, value, names(origins, mesh), style),
  );
  const drawn = table(['FIELD', 'VALUE', 'FROM'], rows);
  const noted =
    note === undefined ? [] : wrap(visibleLine(`note: ${note}`), 76 - 2 * depth).flatMap((line) => indent(depth + 1, line));
  return [...indent(depth, `${kind}, key of the ${level}`), ...indent(depth + 1, drawn), ...noted];
}

/** The lists of hash policies that another one replaces: the list at the root wins, and then that of the type of the balancer (policies 5). */
function unusedHashLists(values: readonly Value[]): ReadonlySet<string> {
  const lists = values.filter(({ path }) => path === 'hashPolicies' || path.endsWith('.hashPolicies')).map(({ path }) => path);
  const type = values.find(({ path }) => path === 'loadBalancer.type')?.value;
  const ofType = type === 'RingHash' ? 'ringHash' : type === 'Maglev' ? 'maglev' : null;
  const used = lists.includes('hashPolicies') ? 'hashPolicies' : `loadBalancer.${ofType ?? ''}.hashPolicies`;
  return new Set(lists.filter((path) => path !== used));
}

/** A row for each item of a list, and a continuation for a long one, so that no two values look alike. */
function rowsOf(field: string, value: Json, from: string, style: Style): string[][] {
  const lines = cellLines(value, style);
  return lines.map((line, at) => (at === 0 ? [field, line, from] : ['', line, '']));
}

function cellLines(value: Json, { wide }: Style): string[] {
  if (wide || typeof value !== 'object' || value === null) return [plain(value)];
  const items = Array.isArray(value) ? value : [value];
  const lines = items.flatMap((item) => wrap(brief(item), VALUE_WIDTH));
  return lines.length === 0 ? [plain(value)] : lines;
}

/** `Header header.name=x-user`: the type of an object, and its other values with their paths. */
function brief(value: Json): string {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return plain(value);
  const { type, ...rest } = value;
  const others = leaves(rest).map(([path, leaf]) => `${path}=${plain(leaf)}`);
  return [...(typeof type === 'string' ? [type] : []), ...others].join(' ') || plain(value);
}

/** `PathPrefix /slow GET x-test=1`. */
function describeMatch({ path, method, headers, queryParams }: JsonObject): string {
  const given = path as { type: string; value: string } | undefined;
  const pairs = (list: Json | undefined): string[] =>
    Array.isArray(list)
      ? list.map((item) => `${String((item as JsonObject)['name'])}=${String((item as JsonObject)['value'] ?? '')}`)
      : [];
  const texts = [
    ...(given === undefined ? [] : [`${given.type} ${given.value}`]),
    ...(typeof method === 'string' ? [method] : []),
    ...pairs(headers),
    ...pairs(queryParams).map((pair) => `?${pair}`),
  ];
  return visibleLine(texts.join(' '));
}

function names(origins: readonly Origin[], mesh: string): string {
  return origins.map(({ kri, ruleIndex }) => shortName(kri, mesh) + (ruleIndex > 0 ? ` #${String(ruleIndex)}` : '')).join(', ');
}

function plain(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function indent(depth: number, text: string): string[] {
  return text.split('\n').map((line) => `${'  '.repeat(depth)}${line}`);
}

function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}
