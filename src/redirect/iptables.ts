// The texts of iptables: rules for `iptables-restore`, and what `iptables-save` prints of a redirection. Pure. Rules have the form in which
// iptables prints them, so that both can be compared.
import { CHAIN_PREFIX, type Action, type Match, type Rule, type RuleTable, type TableName } from './rules.ts';
import type { PortRange } from './settings.ts';

/** The start of every comment of kumactl, by which it recognises its rules. */
const COMMENT_PREFIX = 'kuma/mesh/transparent/proxy/';

/** What one table has of a redirection, as `iptables-save` prints it. */
type SavedTable = {
  readonly name: TableName;
  readonly chains: readonly string[];
  /** `-A CHAIN …`: those in chains of a redirection, and those of base chains that lead there. */
  readonly rules: readonly string[];
  /** How many rules and chains of others there are. */
  readonly foreign: number;
  /** Base chains that let everything pass, as if they were not there. */
  readonly emptyBases: readonly string[];
  /** Whether that is true of the whole table. */
  readonly isEmpty: boolean;
};

/** Rules as `iptables-save` prints them. @param hasComments whether each says what it is for */
export function tableLines({ hooks, chains }: RuleTable, hasComments: boolean): string[] {
  const text = (rule: Rule): string => ruleText(rule, hasComments);
  return [
    ...hooks.map(({ base, rule }) => `-A ${base} ${text(rule)}`),
    ...chains.flatMap(({ name, rules }) => rules.map((rule) => `-A ${name} ${text(rule)}`)),
  ];
}

/**
 * The input of `iptables-restore --noflush` that replaces what a table has of a redirection, in one transaction; `''` where nothing is to
 * do.
 * @param saved what is installed
 * @param wanted null: nothing
 */
export function replacement(saved: SavedTable, wanted: RuleTable | null, hasComments: boolean): string {
  const chains = wanted?.chains.map(({ name }) => name) ?? [];
  const own = new Set([...saved.chains, ...chains]);
  const hooks = saved.rules.filter((rule) => !own.has(chainOf(rule)));
  const left = saved.chains.filter((name) => !chains.includes(name));
  let first = 0;
  const added = (wanted?.hooks ?? []).map(({ base, isFirst, rule }) => {
    if (isFirst && base === 'OUTPUT') first += 1;
    const place = isFirst ? `-I ${base} ${String(base === 'OUTPUT' ? first : 1)}` : `-A ${base}`;
    return `${place} ${ruleText(rule, hasComments)}`;
  });
  const lines = [
    // A chain that is there becomes empty.
    ...[...own].map((name) => `:${name} - [0:0]`),
    ...hooks.map((rule) => rule.replace(/^-A/, '-D')),
    ...left.map((name) => `-X ${name}`),
    ...added,
    ...(wanted === null ? [] : tableLines({ ...wanted, hooks: [] }, hasComments)),
  ];
  return lines.length === 0 ? '' : [`*${saved.name}`, ...lines, 'COMMIT', ''].join('\n');
}

/** Reads `iptables-save -t NAME`. */
export function parseSaved(name: TableName, text: string): SavedTable {
  const lines = text.split('\n');
  // A base chain has a policy, and any other a hyphen.
  const declared = lines.flatMap((line) => {
    const [, chain = '', policy = ''] = /^:(\S+) (\S+)/.exec(line) ?? [];
    return chain === '' ? [] : [{ chain, policy }];
  });
  const chainsOf = (wanted: string): string[] => declared.filter(({ policy }) => policy === wanted).map(({ chain }) => chain);
  const bases = chainsOf('ACCEPT');
  const chains = chainsOf('-').filter((chain) => chain.startsWith(CHAIN_PREFIX));
  const others = declared.filter(({ chain, policy }) => policy !== 'ACCEPT' && !chains.includes(chain));
  const rules = lines.filter((line) => line.startsWith('-A '));
  const isOwn = (rule: string): boolean =>
    chains.includes(chainOf(rule)) ||
    chains.includes(/ -[jg] (\S+)/.exec(rule)?.[1] ?? '') ||
    rule.includes(`--comment "${COMMENT_PREFIX}`) ||
    rule.includes(`--comment ${COMMENT_PREFIX}`);
  return {
    name,
    chains,
    rules: rules.filter(isOwn),
    foreign: rules.filter((rule) => !isOwn(rule)).length + others.length,
    emptyBases: bases.filter((base) => rules.every((rule) => chainOf(rule) !== base)),
    isEmpty: rules.length + declared.length === bases.length,
  };
}

function chainOf(rule: string): string {
  return rule.split(' ')[1] ?? '';
}

/** A rule without its chain. */
function ruleText({ match, action, comment }: Rule, hasComments: boolean): string {
  return [
    ...matchTexts(match),
    ...(hasComments ? [`-m comment --comment "${COMMENT_PREFIX}${comment}"`] : []),
    actionText(action),
  ].join(' ');
}

function matchTexts({
  source,
  destination,
  isLocal,
  outInterface,
  protocol,
  sourcePort,
  destinationPorts,
  user,
}: Match): string[] {
  const is = (flag: string, condition: { readonly value: string; readonly not?: true } | undefined, before = ''): string[] =>
    condition === undefined ? [] : [`${before}${condition.not === true ? '! ' : ''}${flag} ${condition.value}`];
  return [
    ...is('-s', source),
    ...is('-d', destination),
    ...is('-o', outInterface),
    ...(protocol === undefined ? [] : [`-p ${protocol}`]),
    ...portTexts(protocol ?? 'tcp', sourcePort, destinationPorts),
    ...(isLocal === undefined ? [] : ['-m addrtype ! --dst-type LOCAL']),
    ...is('--uid-owner', user, '-m owner '),
  ];
}

function portTexts(protocol: string, source: number | undefined, destinations: readonly PortRange[] | undefined): string[] {
  if (source !== undefined) return [`-m ${protocol} --sport ${String(source)}`];
  if (destinations === undefined) return [];
  const [first] = destinations;
  if (destinations.length === 1 && first !== undefined) return [`-m ${protocol} --dport ${rangeText(first)}`];
  return [`-m multiport --dports ${destinations.map(rangeText).join(',')}`];
}

function rangeText({ first, last }: PortRange): string {
  return first === last ? String(first) : `${String(first)}:${String(last)}`;
}

function actionText(action: Action): string {
  switch (action.kind) {
    case 'return':
      return '-j RETURN';
    case 'jump':
      return `-j ${action.chain}`;
    case 'redirect':
      return `-j REDIRECT --to-ports ${String(action.port)}`;
    case 'zone':
      return `-j CT --zone ${String(action.zone)}`;
  }
}
