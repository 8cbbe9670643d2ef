// The texts of nftables: a redirection is a table of its own in each family. Pure.
import { createHash } from 'node:crypto';
import type { Action, BaseChain, Family, Match, Rule, RuleTable, TableName } from './rules.ts';
import type { PortRange } from './settings.ts';

/** The table of a redirection in either family. */
export const NFT_TABLE = 'meridian_redirection';
/** What `nft` calls the families. */
export const NFT_FAMILY = { 4: 'ip', 6: 'ip6' } as const;

/** Chains of other programs that redirect have the priority -100. */
const NAT = { first: -101, last: -99 };
const RAW = -300;

/** The input of `nft -f` that replaces the table in one transaction. @param tables empty: the table goes */
export function nftText(tables: readonly RuleTable[], family: Family, hasComments: boolean): string {
  const name = `${NFT_FAMILY[family]} ${NFT_TABLE}`;
  // The first line makes the second one possible where there is no table.
  const removal = [`table ${name}`, `delete table ${name}`];
  const digest = nftDigest(tables, family, hasComments);
  if (digest === null) return [...removal, ''].join('\n');
  const lines = tables.flatMap((table) => tableLines(table, family, hasComments));
  return [...removal, `table ${name} {`, `  comment "${digest}"`, ...lines, '}', ''].join('\n');
}

/** The comment of the table, which says which rules it was made of; null without rules. */
export function nftDigest(tables: readonly RuleTable[], family: Family, hasComments: boolean): string | null {
  if (tables.length === 0) return null;
  const lines = tables.flatMap((table) => tableLines(table, family, hasComments));
  return `rules ${createHash('sha256').update(lines.join('\n')).digest('hex').slice(0, 16)}`;
}

/** The comment of the table that `nft list table` printed; `''` without one. */
export function nftCommentOf(listed: string): string {
  return /^[ \t]*comment "([^"]*)"/m.exec(listed)?.[1] ?? '';
}

function tableLines({ name, hooks, chains }: RuleTable, family: Family, hasComments: boolean): string[] {
  const rule = (one: Rule): string => `    ${ruleText(one, family, hasComments)}`;
  const bases = [...new Set(hooks.map(({ base, isFirst }) => `${base} ${String(isFirst)}`))].map((key) => {
    const inside = hooks.filter(({ base, isFirst }) => `${base} ${String(isFirst)}` === key);
    return { inside, base: inside[0]?.base ?? 'OUTPUT', isFirst: inside[0]?.isFirst ?? false };
  });
  return [
    // A jump needs its chain to be there.
    ...chains.map(({ name: chain }) => `  chain ${chain} {\n  }`),
    ...chains.flatMap(({ name: chain, rules }) => [`  chain ${chain} {`, ...rules.map(rule), '  }']),
    ...bases.flatMap(({ base, isFirst, inside }) => [
      `  chain ${baseName(name, base, isFirst)} {`,
      `    ${hookText(name, base, isFirst)}`,
      ...inside.map((one) => rule(one.rule)),
      '  }',
    ]),
  ];
}

function baseName(table: TableName, base: BaseChain, isFirst: boolean): string {
  return [table, base.toLowerCase(), ...(isFirst ? ['first'] : [])].join('_');
}

function hookText(table: TableName, base: BaseChain, isFirst: boolean): string {
  const [type, priority] = table === 'raw' ? ['filter', RAW] : ['nat', isFirst ? NAT.first : NAT.last];
  return `type ${type} hook ${base.toLowerCase()} priority ${String(priority)}; policy accept;`;
}

function ruleText({ match, action, comment }: Rule, family: Family, hasComments: boolean): string {
  return [...matchTexts(match, NFT_FAMILY[family]), actionText(action), ...(hasComments ? [`comment "${comment}"`] : [])].join(
    ' ',
  );
}

function matchTexts(match: Match, family: string): string[] {
  const { source, destination, isLocal, outInterface, protocol, sourcePort, destinationPorts, user } = match;
  const is = (name: string, condition: { readonly value: string; readonly not?: true } | undefined): string[] =>
    condition === undefined ? [] : [`${name} ${condition.not === true ? '!= ' : ''}${condition.value}`];
  const hasPorts = sourcePort !== undefined || destinationPorts !== undefined;
  return [
    ...is(`${family} saddr`, source),
    ...is(`${family} daddr`, destination),
    ...(isLocal === undefined ? [] : ['fib daddr type != local']),
    ...is('oifname', outInterface),
    ...(protocol === undefined || hasPorts ? [] : [`meta l4proto ${protocol}`]),
    ...(sourcePort === undefined ? [] : [`${protocol ?? 'tcp'} sport ${String(sourcePort)}`]),
    ...(destinationPorts === undefined ? [] : [`${protocol ?? 'tcp'} dport ${portSet(destinationPorts)}`]),
    ...is('meta skuid', user),
  ];
}

function portSet(ports: readonly PortRange[]): string {
  const texts = ports.map(({ first, last }) => (first === last ? String(first) : `${String(first)}-${String(last)}`));
  return texts.length === 1 ? (texts[0] ?? '') : `{ ${texts.join(', ')} }`;
}

function actionText(action: Action): string {
  switch (action.kind) {
    case 'return':
      return 'return';
    case 'jump':
      return `jump ${action.chain}`;
    case 'redirect':
      return `redirect to :${String(action.port)}`;
    case 'zone':
      return `ct zone set ${String(action.zone)}`;
  }
}
