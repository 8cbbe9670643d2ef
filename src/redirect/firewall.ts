// The programs that install rules on this machine: iptables on nftables, iptables of its own, and nft. Each has its own rules; a redirection
// is in one of them.
import { readFile } from 'node:fs/promises';
import { MeridianError } from '../base/errors.ts';
import { parseSaved, replacement, tableLines } from './iptables.ts';
import { nftCommentOf, nftDigest, NFT_FAMILY, NFT_TABLE, nftText } from './nftables.ts';
import type { Family, RuleTable, TableName } from './rules.ts';
import { runProgram, type Ended } from './run-program.ts';

export type FirewallName = 'iptables-nft' | 'iptables-legacy' | 'nft';

/** What a program has in one family of addresses. */
type InstalledRules = {
  /** Of a redirection, a line each; for nft the comment of its table. */
  readonly own: readonly string[];
  /** How many rules others have in the tables of a redirection. */
  readonly foreign: number;
};

export type Firewall = {
  readonly name: FirewallName;
  /** @throws MeridianError `config` with the reason of the program */
  installed(family: Family): Promise<InstalledRules>;
  /** `own` of `installed` after these rules were installed. */
  expected(tables: readonly RuleTable[], family: Family): readonly string[];
  /**
   * The input of the program that replaces a redirection, a text for each transaction.
   * @param tables empty: it goes
   * @param isFresh whether nothing is installed; then no right is needed
   */
  scripts(tables: readonly RuleTable[], family: Family, isFresh?: boolean): Promise<readonly string[]>;
  /** The command that takes a script. */
  command(family: Family): readonly string[];
  /** Takes a script. @throws MeridianError `config` with the reason of the program */
  apply(script: string, family: Family): Promise<void>;
  /** Removes base chains and tables without a rule, which the program makes for the first rule. */
  tidy(family: Family): Promise<void>;
};

type FirewallOptions = {
  readonly hasComments: boolean;
  /** Seconds that iptables waits for its lock. */
  readonly wait: number;
  readonly waitInterval: number;
};

const TABLES: readonly TableName[] = ['raw', 'nat'];

/** The programs of this machine. The first is the one that `iptables` is. */
export async function findFirewalls(options: FirewallOptions): Promise<readonly Firewall[]> {
  const plain = /\((nf_tables|legacy)\)/.exec((await runProgram('iptables', ['--version']))?.stdout ?? '')?.[1];
  const usual = plain === undefined ? null : plain === 'legacy' ? 'iptables-legacy' : 'iptables-nft';
  const names = (['iptables-nft', 'iptables-legacy'] as const).toSorted((one) => (one === usual ? -1 : 0));
  const found: Firewall[] = [];
  for (const name of names) {
    const hasOwn = (await runProgram(`${name}-save`, ['--version'])) !== null;
    if (hasOwn || name === usual) found.push(iptables(name, hasOwn ? name.replace('ip', '') : 'tables', options));
  }
  if ((await runProgram('nft', ['--version'])) !== null) found.push(nftables(options));
  return found;
}

/** @param program the name of the program without `ip` or `ip6` */
function iptables(name: 'iptables-nft' | 'iptables-legacy', program: string, options: FirewallOptions): Firewall {
  const { hasComments, wait, waitInterval } = options;
  const programOf = (family: Family, verb: string): string => `${family === 4 ? 'ip' : 'ip6'}${program}-${verb}`;
  const save = async (family: Family, table: TableName): Promise<string> => {
    // To read a table of iptables-legacy makes it.
    if (name === 'iptables-legacy' && !(await legacyTables(family)).includes(table)) return '';
    return await outputOf(programOf(family, 'save'), ['-t', table]);
  };
  const waiting = ['--wait', String(wait), ...(waitInterval > 0 ? ['--wait-interval', String(waitInterval)] : [])];
  return {
    name,
    async installed(family) {
      const saved = [];
      for (const table of TABLES) saved.push(parseSaved(table, await save(family, table)));
      return { own: saved.flatMap(({ rules }) => rules), foreign: saved.reduce((sum, table) => sum + table.foreign, 0) };
    },
    expected: (tables) => tables.flatMap((table) => tableLines(table, hasComments)),
    async scripts(tables, family, isFresh = false) {
      const scripts = [];
      for (const table of TABLES) {
        const saved = parseSaved(table, isFresh ? '' : await save(family, table));
        scripts.push(replacement(saved, tables.find((one) => one.name === table) ?? null, hasComments));
      }
      return scripts.filter((script) => script !== '');
    },
    command: (family) => [programOf(family, 'restore'), '--noflush', ...waiting],
    async apply(script, family) {
      const [restore = '', ...args] = this.command(family);
      // iptables-legacy adds rules one by one in older versions, and a rule that it does not know would come after others.
      await outputOf(restore, [...args, '--test'], script);
      await outputOf(restore, args, script);
    },
    async tidy(family) {
      if (name === 'iptables-legacy') return;
      for (const table of TABLES) {
        const { emptyBases, isEmpty } = parseSaved(table, await save(family, table));
        for (const base of emptyBases) await runProgram(`${family === 4 ? 'ip' : 'ip6'}${program}`, ['-t', table, '-X', base]);
        if (isEmpty) await runProgram('nft', ['delete', 'table', NFT_FAMILY[family], table]);
      }
    },
  };
}

/** The tables that iptables-legacy has made. */
async function legacyTables(family: Family): Promise<string[]> {
  const file = `/proc/self/net/${family === 4 ? 'ip' : 'ip6'}_tables_names`;
  return (await readFile(file, 'utf8').catch(() => '')).split('\n');
}

function nftables({ hasComments }: FirewallOptions): Firewall {
  return {
    name: 'nft',
    async installed(family) {
      const all = await outputOf('nft', ['list', 'tables', NFT_FAMILY[family]]);
      if (!all.split('\n').includes(`table ${NFT_FAMILY[family]} ${NFT_TABLE}`)) return { own: [], foreign: 0 };
      return { own: [nftCommentOf(await outputOf('nft', ['list', 'table', NFT_FAMILY[family], NFT_TABLE]))], foreign: 0 };
    },
    expected: (tables, family) => [nftDigest(tables, family, hasComments) ?? []].flat(),
    async scripts(tables, family, isFresh = false) {
      return tables.length === 0 && (isFresh || (await this.installed(family)).own.length === 0)
        ? []
        : [nftText(tables, family, hasComments)];
    },
    command: () => ['nft', '-f', '-'],
    async apply(script) {
      await outputOf('nft', ['-f', '-'], script);
    },
    tidy: async () => undefined,
  };
}

/** @throws MeridianError `config` when the program fails or does not exist */
async function outputOf(program: string, args: readonly string[], input?: string): Promise<string> {
  const ended = await runProgram(program, args, input);
  if (ended?.code === 0) return ended.stdout;
  throw new MeridianError('config', refusal(program, ended));
}

function refusal(program: string, ended: Ended | null): string {
  if (ended === null) return `there is no ${program} on this machine; install iptables or nftables`;
  const said = ended.stderr.trim().split('\n').slice(0, 8).join('\n  ');
  return `${program} refused the rules${said === '' ? ` with exit code ${String(ended.code)}` : `:\n  ${said}`}`;
}
