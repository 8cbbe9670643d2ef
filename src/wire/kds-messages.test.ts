import { fc } from '../../test/support/property.ts';
import { describe, expect, it } from 'vitest';
import { runSteps } from '../base/steps.ts';
import {
  decodeAdminRequest,
  decodeAdminResponse,
  decodeHealthCheckResponse,
  encodeAdminRequest,
  encodeAdminResponse,
  encodeHealthCheckRequest,
  encodeHealthCheckResponse,
} from './global-service-messages.ts';
import {
  countNamedInSteps,
  decodeDeltaRequest,
  decodeDeltaResponse,
  encodeDeltaRequest,
  encodeDeltaResponse,
  encodeResourceEntry,
  KUMA_RESOURCE_TYPE_URL,
  type DeltaRequest,
} from './kds-messages.ts';
import { messageType } from './root.ts';
import { encodeStruct } from './struct.ts';

const ACK: DeltaRequest = {
  node: { id: 'east' },
  typeUrl: 'MeshTimeout',
  subscribe: [],
  unsubscribe: [],
  initialResourceVersions: new Map(),
  responseNonce: '7',
  errorDetail: null,
};

const NACK: DeltaRequest = {
  ...ACK,
  node: { id: 'east', metadata: encodeStruct({ version: { kumaCp: { version: '1' } }, features: ['a', 'b'] }) },
  subscribe: ['*'],
  unsubscribe: ['gone.default'],
  initialResourceVersions: new Map([
    ['one.default', 'abc'],
    ['__proto__', ''],
    ['10', '2'],
  ]),
  errorDetail: { code: 3, message: 'user error\nno', details: [{ typeUrl: 'x/y', value: Buffer.from('{}') }] },
};

describe('DeltaDiscoveryRequest', () => {
  it.each([
    ['an ACK', ACK],
    ['everything', NACK],
  ])('reads back %s', (_, request) => {
    expect(decodeDeltaRequest(encodeDeltaRequest(request))).toEqual(request);
  });

  it('agrees with the descriptor', () => {
    const type = messageType('envoy.service.discovery.v3.DeltaDiscoveryRequest');
    expect(type.toObject(type.decode(encodeDeltaRequest(NACK)))).toMatchObject({
      node: { id: 'east', metadata: { fields: expect.anything() as unknown } },
      type_url: 'MeshTimeout',
      resource_names_subscribe: ['*'],
      resource_names_unsubscribe: ['gone.default'],
      response_nonce: '7',
      error_detail: { code: 3, message: 'user error\nno', details: [{ type_url: 'x/y' }] },
    });
  });

  it('reads a missing node as one without an id', () => {
    expect(decodeDeltaRequest(Buffer.alloc(0)).node).toEqual({ id: '' });
  });
});

describe('DeltaDiscoveryResponse', () => {
  const resources = ['one', 'two'].map((name) => ({
    name: `${name}.default`,
    version: `v-${name}`,
    kumaResource: Buffer.from(name),
  }));

  it('is the concatenation of encoded entries', () => {
    const entries = resources.map(encodeResourceEntry);
    const bytes = encodeDeltaResponse({
      typeUrl: 'MeshTimeout',
      nonce: '3',
      controlPlane: 'global',
      entries,
      removed: ['old.default'],
    });
    expect(bytes.subarray(0, Buffer.concat(entries).length).equals(Buffer.concat(entries))).toBe(true);
    expect(decodeDeltaResponse(bytes)).toEqual({
      typeUrl: 'MeshTimeout',
      nonce: '3',
      controlPlane: 'global',
      isPartial: false,
      removedResources: ['old.default'],
      resources: resources.map(({ name, version, kumaResource }) => ({
        name,
        version,
        resource: kumaResource,
        anyTypeUrl: KUMA_RESOURCE_TYPE_URL,
      })),
    });
  });

  it('says in one field that more follows, what goes from one peer alone, and which meshes are held', () => {
    const parts = { typeUrl: 'Mesh', nonce: '3', controlPlane: 'global', entries: [], removed: ['a.'] };
    const said = { isPartial: true, isWithdrawal: true, heldMeshes: ['shop', 'pay'] };
    expect(decodeDeltaResponse(encodeDeltaResponse({ ...parts, ...said }))).toMatchObject(said);
  });

  it('is counted without being decoded, up to a limit', () => {
    const counts = fc.tuple(fc.nat(300), fc.nat(300), fc.nat(700));
    fc.assert(
      fc.property(counts, ([added, gone, most]) => {
        const entry = encodeResourceEntry({ name: 'a.default', version: '', kumaResource: Buffer.from('a') });
        const parts = { typeUrl: 'MeshTimeout', nonce: '1', controlPlane: 'east', entries: Array<Buffer>(added).fill(entry) };
        const bytes = encodeDeltaResponse({ ...parts, removed: Array<string>(gone).fill('b.default') });
        expect(runSteps(countNamedInSteps(bytes, most))).toBe(Math.min(added + gone, most + 1));
      }),
    );
    expect(() => runSteps(countNamedInSteps(Buffer.from([0xff]), 1))).toThrow('cannot read a DeltaDiscoveryResponse');
  });

  it('agrees with the descriptor', () => {
    const type = messageType('envoy.service.discovery.v3.DeltaDiscoveryResponse');
    const large = { name: 'large.default', version: '', kumaResource: Buffer.alloc(40_000, 7) };
    const entries = [...resources, large, { ...large, version: 'v', typeUrl: 'a/b' }].map(encodeResourceEntry);
    const response = { typeUrl: 'Mesh', nonce: '1', controlPlane: 'global', entries, removed: ['a.b'] };
    const read = type.decode(encodeDeltaResponse(response));
    expect(Buffer.from(type.encode(read).finish()).equals(encodeDeltaResponse(response))).toBe(true);
  });
});

describe('HealthCheck', () => {
  it.each([0, 1, 1500, 300_000])('carries an interval of %d ms', (intervalMs) => {
    expect(decodeHealthCheckResponse(encodeHealthCheckResponse({ intervalMs }))).toEqual({ intervalMs });
  });

  it('reads a missing interval as 0; its request is empty', () => {
    expect(decodeHealthCheckResponse(Buffer.alloc(0))).toEqual({ intervalMs: 0 });
    expect(encodeHealthCheckRequest()).toHaveLength(0);
  });
});

describe('admin streams', () => {
  it('carry requests, with the numbers of all three', () => {
    const request = {
      requestId: 'id',
      resourceType: 'Dataplane',
      resourceName: 'dp',
      resourceMesh: 'default',
      option: 1,
      usedOnly: true,
    };
    const bytes = encodeAdminRequest(request);
    expect(decodeAdminRequest(bytes)).toEqual(request);
    const as = (name: string): object => messageType(`kuma.mesh.v1alpha1.${name}`).decode(bytes).toJSON();
    expect(as('StatsRequest')).toMatchObject({ request_id: 'id', resource_mesh: 'default', format: 'JSON', used_only: true });
    expect(as('ClustersRequest')).toMatchObject({ resource_name: 'dp', format: 'JSON' });
    expect(as('XDSConfigRequest')).toMatchObject({ resource_type: 'Dataplane', include_eds: true });
  });

  it.each([{ requestId: 'id', error: 'no proxy' }, { requestId: 'id', payload: Buffer.from('x') }, { requestId: 'id' }])(
    'carry the response %j',
    (response) => {
      expect(decodeAdminResponse(encodeAdminResponse(response))).toEqual(response);
    },
  );
});

describe('broken bytes', () => {
  const whole = [
    encodeDeltaRequest(NACK),
    encodeDeltaResponse({
      typeUrl: 'Mesh',
      nonce: '1',
      controlPlane: 'global',
      entries: [encodeResourceEntry({ name: 'a.', version: 'v', kumaResource: Buffer.from('abc') })],
      removed: ['x.y'],
    }),
    encodeHealthCheckResponse({ intervalMs: 1500 }),
    encodeAdminResponse({ requestId: 'id', error: 'no' }),
  ];
  const decoders = [decodeDeltaRequest, decodeDeltaResponse, decodeHealthCheckResponse, decodeAdminRequest, decodeAdminResponse];

  it('give a value or an Error that names the message', () => {
    const change = fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 }));
    fc.assert(
      fc.property(fc.constantFrom(...whole), fc.array(change, { maxLength: 5 }), fc.nat(), (original, changes, cut) => {
        const bytes = Buffer.from(original);
        for (const [at, value] of changes) bytes[at % bytes.length] = value;
        for (const broken of [bytes, bytes.subarray(0, cut % bytes.length)]) {
          for (const decode of decoders) {
            try {
              decode(broken);
            } catch (error) {
              expect(String(error)).toMatch(/^Error: cannot read (a |kuma\.)/);
            }
          }
        }
      }),
      { numRuns: 500 },
    );
  });

  it('give a value or an Error, for any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.constantFrom(...decoders), (bytes, decode) => {
        try {
          decode(bytes);
        } catch (error) {
          expect(String(error)).toMatch(/^Error: cannot read (a |kuma\.)/);
        }
      }),
      { numRuns: 500 },
    );
  });
});
