// Installs, removes and compares the redirection of this machine, or of the network namespace of this process. Invariants: one program has
// it, foreign rules stay, and a second installation of the same settings changes nothing for a connection.
import { readFile } from 'node:fs/promises';
import { MeridianError, messageOf } from '../base/errors.ts';
import { findFirewalls, type Firewall, type FirewallName } from './firewall.ts';
import { machineFacts } from './machine-facts.ts';
import { redirectionRules, type Family, type RuleTable } from './rules.ts';
import { readSettings, type RedirectSettings } from './settings.ts';
import { addSource, ADD_SOURCE, hasSource, removeSource, SOURCE_LINE } from './source-address.ts';

/** The program that a person names; `auto`: the one that fits the machine. */
export type FirewallChoice = FirewallName | 'auto';

/** The input of a program, and the command that takes it. */
export type Script = { readonly family: Family; readonly command: readonly string[]; readonly text: string };

/** A redirection in one family of addresses. */
export type FamilyState = {
  readonly family: Family;
  /** Empty: nothing is installed. */
  readonly firewalls: readonly FirewallName[];
  /** Lines of the settings that are not installed. */
  readonly missing: readonly string[];
  /** Lines that are installed, and not of the settings. */
  readonly unexpected: readonly string[];
};

const FAMILIES: readonly Family[] = [4, 6];
const NET_ADMIN = 12n;

/** The scripts that `install` would run. Without the right to read rules they are those for a machine without any. */
export async function plannedScripts(settings: RedirectSettings, choice: FirewallChoice): Promise<readonly Script[]> {
  const isPermitted = (await whyNotPermitted()) === null;
  const firewalls = await firewallsOf(settings);
  const chosen = isPermitted ? await chooseFirewall(firewalls, choice) : namedFirewall(firewalls, choice);
  const wanted = await wantedRules(settings);
  const scripts: Script[] = [];
  if (wanted.has(6) && !(await hasSource())) scripts.push({ family: 6, command: ADD_SOURCE, text: '' });
  for (const [family, tables] of wanted) {
    for (const text of await chosen.scripts(tables, family, !isPermitted))
      scripts.push({ family, command: chosen.command(family), text });
  }
  return scripts;
}

/**
 * Installs a redirection. It replaces the rules of Meridian or kumactl in every firewall program of the machine.
 * @returns the program that has it
 * @throws MeridianError `config` with the reason: the rights, the programs, or what the kernel refused
 */
export async function installRedirection(settings: RedirectSettings, choice: FirewallChoice): Promise<FirewallName> {
  await requirePermission();
  const firewalls = await firewallsOf(settings);
  const chosen = await chooseFirewall(firewalls, choice);
  const wanted = await wantedRules(settings);
  try {
    if (wanted.has(6)) await addSource();
    for (const family of FAMILIES) await replace(chosen, wanted.get(family) ?? [], family);
  } catch (cause) {
    await removeFrom(firewalls).catch(() => undefined);
    await removeSource().catch(() => undefined);
    throw new MeridianError('config', `${messageOf(cause)}\nnothing is redirected now`, { cause });
  }
  await removeFrom(firewalls.filter((firewall) => firewall !== chosen));
  return chosen.name;
}

/** Removes a redirection from every program. @returns the programs that had one @throws MeridianError `config` with the reason */
export async function removeRedirection(): Promise<readonly FirewallName[]> {
  await requirePermission();
  const had = await removeFrom(await firewallsOf(readSettings({})));
  if (had.length > 0) await removeSource();
  return had;
}

/** Compares what is installed with the settings. @throws MeridianError `config` with the reason */
export async function redirectionState(settings: RedirectSettings): Promise<readonly FamilyState[]> {
  await requirePermission();
  const firewalls = await firewallsOf(settings);
  const wanted = await wantedRules(settings);
  const states: FamilyState[] = [];
  for (const family of FAMILIES) {
    const tables = wanted.get(family) ?? [];
    const having = await havingRules(firewalls, family);
    const installed = having.flatMap(({ own }) => own);
    const expected = (having[0]?.firewall ?? firewalls[0])?.expected(tables, family) ?? [];
    states.push({
      family,
      firewalls: having.map(({ firewall }) => firewall.name),
      missing: [
        ...expected.filter((line) => !installed.includes(line)),
        ...(family === 6 && wanted.has(6) && !(await hasSource()) ? [SOURCE_LINE] : []),
      ],
      unexpected: installed.filter((line) => !expected.includes(line)),
    });
  }
  return states;
}

async function wantedRules(settings: RedirectSettings): Promise<ReadonlyMap<Family, readonly RuleTable[]>> {
  const facts = await machineFacts(settings);
  const families = FAMILIES.filter((family) => family === 4 || (settings.ipFamilyMode === 'dualstack' && facts.hasIpv6));
  return new Map(families.map((family) => [family, redirectionRules(settings, facts, family)]));
}

async function firewallsOf({ comments, wait, waitInterval }: RedirectSettings): Promise<readonly Firewall[]> {
  const found = await findFirewalls({ hasComments: !comments.disabled, wait, waitInterval });
  if (found.length > 0) return found;
  throw new MeridianError(
    'config',
    'there is neither iptables nor nft on this machine; install the package iptables or nftables',
  );
}

/** The named program. Otherwise the one with a redirection, else one with foreign rules, else the first. */
async function chooseFirewall(firewalls: readonly Firewall[], choice: FirewallChoice): Promise<Firewall> {
  if (choice !== 'auto') return namedFirewall(firewalls, choice);
  const [having] = await havingRules(firewalls, 4);
  if (having !== undefined) return having.firewall;
  for (const firewall of firewalls) if ((await firewall.installed(4)).foreign > 0) return firewall;
  return namedFirewall(firewalls, choice);
}

function namedFirewall(firewalls: readonly Firewall[], choice: FirewallChoice): Firewall {
  const found = firewalls.find(({ name }) => choice === 'auto' || name === choice);
  if (found !== undefined) return found;
  const names = firewalls.map(({ name }) => name).join(', ');
  throw new MeridianError('config', `--firewall: ${choice} is not on this machine; it has ${names}`);
}

async function havingRules(
  firewalls: readonly Firewall[],
  family: Family,
): Promise<{ readonly firewall: Firewall; readonly own: readonly string[] }[]> {
  const found = [];
  for (const firewall of firewalls) {
    const { own } = await firewall.installed(family);
    if (own.length > 0) found.push({ firewall, own });
  }
  return found;
}

async function replace(firewall: Firewall, tables: readonly RuleTable[], family: Family): Promise<boolean> {
  const scripts = await firewall.scripts(tables, family);
  for (const script of scripts) await firewall.apply(script, family);
  return scripts.length > 0;
}

async function removeFrom(firewalls: readonly Firewall[]): Promise<FirewallName[]> {
  const had = new Set<FirewallName>();
  for (const firewall of firewalls)
    for (const family of FAMILIES) {
      if (!(await replace(firewall, [], family))) continue;
      await firewall.tidy(family);
      had.add(firewall.name);
    }
  return [...had];
}

async function requirePermission(): Promise<void> {
  const reason = await whyNotPermitted();
  if (reason !== null) throw new MeridianError('config', reason);
}

/** Null where this process may change rules; otherwise the reason, and what to do. */
async function whyNotPermitted(): Promise<string | null> {
  if (process.platform !== 'linux') return 'a transparent proxy needs Linux: only its kernel redirects connections';
  const status = await readFile('/proc/self/status', 'utf8').catch(() => '');
  const rights = BigInt(`0x${/^CapEff:\s*([0-9a-f]+)/m.exec(status)?.[1] ?? '0'}`);
  if (((rights >> NET_ADMIN) & 1n) === 1n) return null;
  return 'this process may not change the firewall: run as root, and in a container with the capability NET_ADMIN (docker run --cap-add NET_ADMIN)';
}
