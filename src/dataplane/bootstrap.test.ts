import { describe, expect, it } from 'vitest';
import { objectOf, objectsOf } from '../resource/read-json.ts';
import { adminAddressOf, readBootstrapAnswer, withControlPlanes } from './bootstrap.ts';
import { parseControlPlaneAddress } from './control-plane-address.ts';

const answer = (text: string): string => JSON.stringify({ bootstrap: Buffer.from(text).toString('base64') });
const one = parseControlPlaneAddress('https://one.example:1');
const two = parseControlPlaneAddress('https://two.example:2');

describe('the answer with a bootstrap', () => {
  it('is read in YAML and in JSON', () => {
    const bootstrap = { node: { id: 'shop.cart' } };
    expect(readBootstrapAnswer(answer('node:\n  id: shop.cart\n'))).toEqual(bootstrap);
    expect(readBootstrapAnswer(answer(JSON.stringify(bootstrap)))).toEqual(bootstrap);
  });

  it.each(['', 'null', '[]', '{"bootstrap": 1}', answer('a: ['), answer('text'), answer('node: text')])(
    'is refused as %s',
    (body) => {
      expect(() => readBootstrapAnswer(body)).toThrow(/^the answer to POST \/bootstrap/);
    },
  );
});

describe('the admin interface of a bootstrap', () => {
  it.each([
    [{ pipe: { path: '/run/admin.sock', mode: 384 } }, { socketPath: '/run/admin.sock' }],
    [{ socketAddress: { address: '127.0.0.1', portValue: 9901 } }, { host: '127.0.0.1', port: 9901 }],
    [{ socket_address: { address: '127.0.0.1', port_value: 9901 } }, { host: '127.0.0.1', port: 9901 }],
  ])('%j is found', (address, found) => {
    expect(adminAddressOf({ admin: { address } })).toEqual(found);
  });

  it('must be there', () => {
    expect(() => adminAddressOf({ node: {} })).toThrow('no admin interface');
  });
});

describe('a bootstrap for several control planes', () => {
  const bootstrap = {
    node: { id: 'shop.cart' },
    staticResources: {
      clusters: [
        {
          name: 'system_ads',
          type: 'STRICT_DNS',
          transportSocket: { name: 'tls', typedConfig: { '@type': 'x', sni: 'one.example' } },
        },
        { name: 'other' },
      ],
      secrets: [{ name: 'cp_validation_ctx', validationContext: { trustedCa: { inlineBytes: 'AA' } } }, { name: 'mine' }],
    },
  };

  it('has an endpoint, a server name and a name of the certificate for each', () => {
    const spread = objectOf(withControlPlanes(bootstrap, [one, two])['staticResources']);
    const [ads, other] = objectsOf(spread['clusters']);
    expect(other).toEqual({ name: 'other' });
    expect(ads).toMatchObject({
      type: 'STRICT_DNS',
      loadAssignment: {
        endpoints: [
          {
            lbEndpoints: [
              { endpoint: { address: { socketAddress: { address: 'one.example', portValue: 1 } }, hostname: 'one.example' } },
              { endpoint: { address: { socketAddress: { address: 'two.example', portValue: 2 } }, hostname: 'two.example' } },
            ],
          },
        ],
      },
      transportSocket: { name: 'tls', typedConfig: { '@type': 'x', autoHostSni: true } },
    });
    const [trust, mine] = objectsOf(spread['secrets']);
    expect(mine).toEqual({ name: 'mine' });
    const names = objectsOf(objectOf(trust?.['validationContext'])['matchTypedSubjectAltNames']);
    expect(names.map(({ matcher }) => matcher)).toEqual(
      ['one.example', 'one.example', 'two.example', 'two.example'].map((exact) => ({ exact })),
    );
    expect(trust).toMatchObject({ validationContext: { trustedCa: { inlineBytes: 'AA' } } });
  });

  it('stays as it is for one, and in another form', () => {
    expect(withControlPlanes(bootstrap, [one])).toBe(bootstrap);
    const other = { node: {}, staticResources: { clusters: [{ name: 'ads' }] } };
    expect(withControlPlanes(other, [one, two])).toBe(other);
  });
});
