// The configuration in force on a proxy, as rows: a part of the proxy, a policy, a field, its value and who set it.
import type { Answer } from '../../src/answers/answers.ts';

export type Effective = Answer<'Effective'>;
type Origin = Effective['policies'][number]['origins'][number];
type Policy = Effective['outbounds'][number]['policies'][number];

export type ConfRow = {
  readonly kind: string;
  /** The route, the match, or the level whose conf counts. */
  readonly where: string;
  readonly path: string;
  readonly value: string;
  readonly origins: readonly Origin[];
  /** Of its policy in this place. */
  readonly isFirst: boolean;
  /** What a filter looks at. */
  readonly found: string;
};
export type Section = { readonly title: string; readonly note: string; readonly rows: readonly ConfRow[] };

/** The proxy itself, its inbounds, then its outbounds with their routes. */
export function sectionsOf({ policies, inbounds, outbounds }: Effective): readonly Section[] {
  const whole = policies.flatMap(({ kind, values }) => rowsOf(kind, '', values));
  return [
    { title: 'The whole proxy', note: '', rows: whole },
    ...inbounds.map(({ kri, port, protocol, policies: ofInbound }) => ({
      title: `Inbound ${lastPart(kri)}`,
      note: `${protocol} on port ${String(port)}`,
      rows: ofInbound.flatMap(({ kind, inForce }) =>
        inForce.flatMap(({ match, values }) => rowsOf(kind, match === undefined ? '' : clientsOf(match), values)),
      ),
    })),
    ...outbounds.map(({ kri, port, protocol, policies: inForce, routes }) => ({
      title: `Outbound ${destinationOf(kri)}`,
      note: `${protocol} on port ${String(port)}`,
      rows: [
        ...inForce.flatMap((policy) => policyRows(policy, '')),
        ...routes.flatMap((route) => [
          ...rowsOf(
            route.kind,
            matchOf(route.matches),
            valuesIn(route.conf, [{ kri: route.kri, name: nameOf(route.kri), ruleIndex: 0 }]),
          ),
          ...route.policies.flatMap((policy) => policyRows(policy, matchOf(route.matches))),
        ]),
      ],
    })),
  ].filter(({ rows }) => rows.length > 0);
}

type Value = { readonly path: string; readonly value: unknown; readonly origins: readonly Origin[] };

function policyRows({ kind, level, values, note }: Policy, route: string): ConfRow[] {
  const where = [route, level === 'mesh' ? '' : `of the ${level}`, note ?? ''].filter((part) => part !== '').join(', ');
  return rowsOf(kind, where, values);
}

function rowsOf(kind: string, where: string, values: readonly Value[]): ConfRow[] {
  return values.map(({ path, value, origins }, at) => ({
    kind,
    where,
    path,
    value: typeof value === 'string' ? value : JSON.stringify(value),
    origins,
    isFirst: at === 0,
    found: [kind, where, path, ...origins.map(({ name }) => name)].join(' '),
  }));
}

/** Each leaf of a conf. A list is one value: its order counts. An empty object is one too: it can switch something on. */
function valuesIn(conf: unknown, origins: readonly Origin[], path = ''): Value[] {
  const isBranch = typeof conf === 'object' && conf !== null && !Array.isArray(conf);
  if (!isBranch || (path !== '' && Object.keys(conf).length === 0)) return [{ path, value: conf, origins }];
  return Object.entries(conf).flatMap(([key, value]) => valuesIn(value, origins, path === '' ? key : `${path}.${key}`));
}

/** `east/cart:http` of the KRI of a port. */
function destinationOf(kri: string): string {
  const [, short = '', , zone = '', , name = '', section = ''] = kri.split('_');
  const kind = { msvc: '', mmzs: 'of all zones ', extsvc: 'external ' }[short] ?? `${short} `;
  return `${kind}${zone === '' ? '' : `${zone}/`}${name}${section === '' ? '' : `:${section}`}`;
}

function nameOf(kri: string): string {
  return kri.split('_')[5] ?? kri;
}

function lastPart(kri: string): string {
  return kri.split('_').at(-1) ?? kri;
}

/** `Exact spiffe://shop/web` */
function clientsOf(match: object): string {
  return valuesIn(match, [])
    .map(({ value }) => String(value))
    .join(' ');
}

function matchOf(matches: readonly unknown[] | null): string {
  if (matches === null || matches.length === 0) return 'all requests';
  return matches.map((match) => textOfMatch(match as Readonly<Record<string, unknown>>)).join(' or ');
}

function textOfMatch({ path, ...others }: Readonly<Record<string, unknown>>): string {
  const { value = '', type = '' } = (path ?? {}) as { value?: string; type?: string };
  const rest = Object.keys(others).length === 0 ? '' : ` ${JSON.stringify(others)}`;
  return (type === 'PathPrefix' ? `${value}*` : value) + rest || 'all requests';
}
