import { describe, expect, it } from 'vitest';
import { fc } from '../../test/support/property.ts';
import { parseResolvConf } from './resolv-conf.ts';

const server = (address: string): object => ({ address, port: 53 });

describe('parseResolvConf', () => {
  it('reads servers and options, and leaves out what is not for it', () => {
    const text = `# made by a program
search corp.example svc.mesh.local
nameserver 10.0.0.2 # the first
nameserver fe80::1%eth0
nameserver resolver.example
  nameserver\t10.0.0.3
options ndots:5 timeout:1 edns0
options attempts:3 rotate
`;
    expect(parseResolvConf(text)).toEqual({
      servers: [server('10.0.0.2'), server('fe80::1%eth0'), server('10.0.0.3')],
      timeoutMs: 1_000,
      attempts: 3,
      rotates: true,
    });
  });

  it('has the defaults and the limits of a stub resolver', () => {
    const three = 'nameserver 10.0.0.1\nnameserver 10.0.0.2\nnameserver 10.0.0.3\nnameserver 10.0.0.4\n';
    expect(parseResolvConf(three)?.servers).toHaveLength(3);
    expect(parseResolvConf(three)).toMatchObject({ timeoutMs: 5_000, attempts: 2, rotates: false });
    const large = parseResolvConf(`${three}options timeout:900 attempts:99`);
    expect(large).toMatchObject({ timeoutMs: 30_000, attempts: 5 });
    const small = parseResolvConf(`${three}options timeout:0 attempts:0 timeout:x`);
    expect(small).toMatchObject({ timeoutMs: 1_000, attempts: 1 });
  });

  it.each(['', '# nothing', 'nameserver', 'nameserver resolver.example', ';nameserver 10.0.0.1'])(
    'finds no server in %j',
    (text) => {
      expect(parseResolvConf(text)).toBeNull();
    },
  );

  it('reads any text', () => {
    const line = fc.tuple(fc.constantFrom('nameserver ', 'options ', 'search ', ''), fc.string()).map((parts) => parts.join(''));
    fc.assert(
      fc.property(fc.array(line), (lines) => {
        expect(parseResolvConf(lines.join('\n'))?.servers.length ?? 1).toBeGreaterThan(0);
      }),
    );
  });
});
