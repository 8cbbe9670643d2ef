// The texts of iptables and nftables of a redirection. test/redirect installs them.
import { describe, expect, it } from 'vitest';
import { parseSaved, replacement, tableLines } from './iptables.ts';
import { nftCommentOf, nftDigest, nftText } from './nftables.ts';
import { redirectionRules } from './rules.ts';
import { readSettings } from './settings.ts';

const FACTS = { user: '5678', nameservers: ['10.0.0.53', 'fd00::53'] };
const WITH_DNS = readSettings({ redirect: { dns: { enabled: true } } });

function linesOf(given: unknown, family: 4 | 6 = 4): string[] {
  return redirectionRules(readSettings(given), FACTS, family).flatMap((table) => tableLines(table, false));
}

describe('the rules', () => {
  it('lead from base chains to chains of their own alone', () => {
    for (const family of [4, 6] as const)
      for (const line of linesOf({ redirect: { dns: { enabled: true } } }, family))
        expect(line).toMatch(/^-A KUMA_MESH_|-j KUMA_MESH_/);
  });

  it('are those of the nameservers of their family', () => {
    const dns = (family: 4 | 6): string[] =>
      linesOf({ redirect: { dns: { enabled: true } } }, family).filter((line) => line.includes('15053'));
    expect(dns(4).join('\n')).toContain('-d 10.0.0.53/32 -p udp -m udp --dport 53 -j REDIRECT --to-ports 15053');
    expect(dns(6).join('\n')).toContain('-d fd00::53/128 -p tcp -m tcp --dport 53 -j REDIRECT --to-ports 15053');
    expect(linesOf({ redirect: { dns: { enabled: true, captureAll: true } } })).toContain(
      '-A KUMA_MESH_DNS -p udp -m udp --dport 53 -j REDIRECT --to-ports 15053',
    );
  });

  it('use no zone of connection tracking where the settings want none', () => {
    expect(linesOf({ redirect: { dns: { enabled: true, skipConntrackZoneSplit: true } } }).join()).not.toContain('-j CT');
  });

  it('redirect included ports alone, seven ranges a rule', () => {
    const lines = linesOf({ redirect: { outbound: { includePorts: '1,2,3,4,5,6,7-8,9' } } });
    expect(lines.filter((line) => line.endsWith('KUMA_MESH_OUTBOUND_REDIRECT'))).toEqual([
      '-A KUMA_MESH_OUTBOUND -p tcp -m multiport --dports 1,2,3,4,5,6,7:8 -j KUMA_MESH_OUTBOUND_REDIRECT',
      '-A KUMA_MESH_OUTBOUND -p tcp -m tcp --dport 9 -j KUMA_MESH_OUTBOUND_REDIRECT',
    ]);
  });

  it('exclude ranges of addresses in their family', () => {
    const given = { redirect: { inbound: { excludePortsForIPs: ['10.1.2.3/8', 'fd00::/8'] } } };
    expect(linesOf(given)).toContain('-A KUMA_MESH_INBOUND -s 10.0.0.0/8 -j RETURN');
    expect(linesOf(given, 6)).toContain('-A KUMA_MESH_INBOUND -s fd00::/8 -j RETURN');
  });

  it('are none of a direction that is off', () => {
    expect(linesOf({ redirect: { inbound: { enabled: false }, outbound: { enabled: false } } })).toEqual([]);
    expect(linesOf({ redirect: { inbound: { enabled: false } } }).join()).not.toContain('INBOUND');
  });
});

describe('a replacement', () => {
  const [raw, nat] = redirectionRules(WITH_DNS, FACTS, 4);

  it('puts DNS before all rules that are there, in its order', () => {
    const text = replacement(parseSaved('nat', ''), nat ?? null, false);
    expect(text.split('\n').filter((line) => line.startsWith('-I'))).toEqual([
      '-I OUTPUT 1 -p udp -m udp --dport 53 -j KUMA_MESH_DNS',
      '-I OUTPUT 2 -p tcp -m tcp --dport 53 -j KUMA_MESH_DNS',
    ]);
    expect(text.split('\n').at(-2)).toBe('COMMIT');
  });

  it('removes what is recognised by its chain, its target or its comment, and nothing else', () => {
    const saved = parseSaved(
      'nat',
      [
        ...['*nat', ':OUTPUT ACCEPT [0:0]', ':KUMA_MESH_OLD - [0:0]', ':OTHER - [0:0]', '-A OUTPUT -p tcp -j KUMA_MESH_OLD'],
        ...['-A OUTPUT -p udp -m comment --comment "kuma/mesh/transparent/proxy/x" -j RETURN', '-A OUTPUT -j OTHER'],
        ...['-A KUMA_MESH_OLD -j RETURN', '-A OTHER -j RETURN', 'COMMIT'],
      ].join('\n'),
    );
    expect(saved.foreign).toBe(3);
    expect(replacement(saved, null, true).split('\n')).toEqual([
      ...['*nat', ':KUMA_MESH_OLD - [0:0]', '-D OUTPUT -p tcp -j KUMA_MESH_OLD'],
      ...['-D OUTPUT -p udp -m comment --comment "kuma/mesh/transparent/proxy/x" -j RETURN', '-X KUMA_MESH_OLD', 'COMMIT', ''],
    ]);
  });

  it('is empty where nothing is installed and nothing wanted', () => {
    expect(replacement(parseSaved('raw', '*raw\n:OUTPUT ACCEPT [0:0]\nCOMMIT\n'), null, true)).toBe('');
    expect(replacement(parseSaved('raw', ''), raw ?? null, true)).toContain('-j CT --zone 2');
  });
});

describe('the text of nft', () => {
  it('replaces the table in one transaction, and says what it was made of', () => {
    const tables = redirectionRules(WITH_DNS, FACTS, 6);
    const text = nftText(tables, 6, true);
    expect(text.split('\n').slice(0, 3)).toEqual([
      ...['table ip6 meridian_redirection', 'delete table ip6 meridian_redirection', 'table ip6 meridian_redirection {'],
    ]);
    expect(nftCommentOf(text)).toBe(nftDigest(tables, 6, true));
    expect(nftDigest(tables, 6, false)).not.toBe(nftDigest(tables, 6, true));
    expect(text).toContain('ip6 daddr fd00::53/128 udp dport 53 redirect to :15053 comment "questions of applications"');
  });

  it('removes the table where no rule is wanted', () => {
    expect(nftText([], 4, true)).toBe('table ip meridian_redirection\ndelete table ip meridian_redirection\n');
    expect(nftDigest([], 4, true)).toBe(null);
  });
});
