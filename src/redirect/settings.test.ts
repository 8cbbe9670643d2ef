// The settings of a redirection.
import { describe, expect, it } from 'vitest';
import type { MeridianError } from '../base/errors.ts';
import { parseSettingsFile, readSettings } from './settings.ts';

function violationsOf(text: string): string[] {
  try {
    readSettings(parseSettingsFile(text, 'redirect.yaml'));
    return [];
  } catch (error) {
    return (error as MeridianError).violations.map(({ field, reason }) => `${field}: ${reason}`);
  }
}

describe('the settings', () => {
  it('redirect TCP in both families, and no DNS, if nothing is given', () => {
    const { ipFamilyMode, redirect } = readSettings({});
    expect(ipFamilyMode).toBe('dualstack');
    expect(redirect).toMatchObject({
      inbound: { enabled: true, port: 15_006, excludePorts: [] },
      outbound: { enabled: true, port: 15_001, excludePorts: [], excludePortsForUIDs: [] },
      dns: { enabled: false, port: 15_053, captureAll: false, resolvConfigPath: '/etc/resolv.conf' },
    });
  });

  it.each([
    ['excludePorts: [22, "8000-8010"]', 'excludePorts'],
    ['excludePorts: "22, 8000:8010"', 'excludePorts'],
    ['includePorts: 22,8000-8010', 'includePorts'],
  ] as const)('take ports as %s', (text, field) => {
    const { redirect } = readSettings(
      parseSettingsFile(`redirect: { outbound: { ${text} } }`.replace(/: (\d.*?) \}/, ': "$1" }'), 'f'),
    );
    expect(redirect.outbound[field]).toEqual([
      { first: 22, last: 22 },
      { first: 8_000, last: 8_010 },
    ]);
  });

  it.each([
    ['1000', { protocols: ['tcp', 'udp'], ports: [], users: ['1000'] }],
    ['*:1000-2000', { protocols: ['tcp', 'udp'], ports: [], users: ['1000-2000'] }],
    [
      'tcp:22,80-90:0,7',
      {
        protocols: ['tcp'],
        ports: [
          { first: 22, last: 22 },
          { first: 80, last: 90 },
        ],
        users: ['0', '7'],
      },
    ],
    ['udp:53:7', { protocols: ['udp'], ports: [{ first: 53, last: 53 }], users: ['7'] }],
  ])('take users as %s', (text, expected) => {
    const { redirect } = readSettings({ redirect: { outbound: { excludePortsForUIDs: [text] } } });
    expect(redirect.outbound.excludePortsForUIDs).toEqual([expected]);
  });

  it('take a file of kumactl with fields that change no rule', () => {
    const file =
      'kumaDPUser: 5678\nverbose: true\nretry: { maxRetries: 4 }\nebpf: { enabled: false, programsSourcePath: /x }\ncniMode: false\n';
    expect(readSettings(parseSettingsFile(file, 'f')).kumaDPUser).toBe('5678');
  });

  it.each([
    ['ipFamilyMode: ipv6', ['ipFamilyMode: must be dualstack or ipv4']],
    ['redirect: { inbound: { port: 0 } }', ['redirect.inbound.port: must be a port, 1 to 65535']],
    [
      'redirect: { inbound: { excludePorts: [22, x] } }',
      ['redirect.inbound.excludePorts: "x" must be a port such as 22, or a range such as 8000-8010'],
    ],
    [
      'redirect: { outbound: { excludePortsForIPs: 10.0.0.0/40 } }',
      ['redirect.outbound.excludePortsForIPs: "10.0.0.0/40" must be an IP address, or a range such as 10.0.0.0/8'],
    ],
    [
      'redirect: { outbound: { excludePortsForUIDs: ["icmp:1:2"] } }',
      [
        'redirect.outbound.excludePortsForUIDs: "icmp:1:2" must be USERS, PORTS:USERS or PROTOCOL:PORTS:USERS, such as 1000, 22:1000-2000 or tcp:22,80-90:0',
      ],
    ],
    [
      'redirect: { inbound: { excludePortsForUIDs: ["1"] } }',
      ['redirect.inbound.excludePortsForUIDs: is not supported; leave it out'],
    ],
    ['redirect: { vnet: { networks: ["docker0:172.17.0.0/16"] } }', ['redirect.vnet.networks: is not supported; leave it out']],
    ['ebpf: { enabled: true }', ['ebpf.enabled: is not supported; leave it out']],
    [
      'nope: 1\nredirect: { dns: { nope: 2 } }',
      ['redirect.dns.nope: is no field of the settings', 'nope: is no field of the settings'],
    ],
    ['redirect: { inbound: { port: 15001 } }', ['redirect.outbound.port: must not be the port of redirect.inbound']],
  ])('name what is wrong in %s', (text, expected) => {
    expect(violationsOf(text)).toEqual(expected);
  });

  it.each(['- 1', 'a: [', '--- {}\n--- {}'])('refuse a file such as %j', (text) => {
    expect(() => parseSettingsFile(text, 'redirect.yaml')).toThrow(/^redirect\.yaml (?:is not YAML|must hold keys)/);
  });
});
