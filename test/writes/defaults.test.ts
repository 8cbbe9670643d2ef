// Every write stores the defaults of the schema and durations in Go's format, so that a read document can be applied again.
import type { FastifyInstance } from 'fastify';
import { beforeEach, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/resource/types.ts';
import { TinyStore } from '../support/tiny-store.ts';
import { testApi } from '../api/test-api.ts';

const WRITES: readonly (readonly [string, string, JsonObject, JsonObject])[] = [
  [
    'meshretries',
    'MeshRetry',
    {
      to: [
        {
          targetRef: { kind: 'Mesh' },
          default: { http: { perTryTimeout: '60s', hostSelection: [{ predicate: 'OmitPreviousHosts' }] } },
        },
      ],
    },
    {
      to: [
        {
          targetRef: { kind: 'Mesh' },
          default: { http: { perTryTimeout: '1m0s', hostSelection: [{ predicate: 'OmitPreviousHosts', updateFrequency: 2 }] } },
        },
      ],
    },
  ],
  [
    'meshmultizoneservices',
    'MeshMultiZoneService',
    { selector: { meshService: { matchLabels: { a: 'b' } } }, ports: [{ port: 80 }] },
    { selector: { meshService: { matchLabels: { a: 'b' } } }, ports: [{ port: 80, appProtocol: 'tcp' }] },
  ],
  [
    'meshexternalservices',
    'MeshExternalService',
    { match: { port: 80 }, endpoints: [{ address: 'a.example', port: 80 }] },
    { match: { port: 80, type: 'HostnameGenerator', protocol: 'tcp' }, endpoints: [{ address: 'a.example', port: 80 }] },
  ],
];

let api: FastifyInstance;

beforeEach(async () => {
  api = testApi(new TinyStore(), 'global');
  await api.inject({ method: 'PUT', url: '/meshes/default', payload: { type: 'Mesh', name: 'default' } });
});

describe.each(WRITES)('a %s', (path, type, given, stored) => {
  const url = `/meshes/default/${path}/a`;
  const body = { type, mesh: 'default', name: 'a', spec: given };
  const read = async (): Promise<JsonObject> => (await api.inject({ url })).json();

  it('is stored with its defaults by PUT', async () => {
    const answer = await api.inject({ method: 'PUT', url, payload: body });
    expect(answer.statusCode, answer.body).toBe(201);
    expect((await read())['spec']).toEqual(stored);
  });

  it('is stored with its defaults by apply, and is unchanged when the written or the read form is applied again', async () => {
    const apply = async (document: JsonObject): Promise<JsonObject> => {
      const answer = await api.inject({ method: 'POST', url: '/_apply', payload: [document] });
      expect(answer.statusCode, answer.body).toBe(200);
      const [item] = answer.json<{ items: JsonObject[] }>().items;
      return item ?? {};
    };
    expect(await apply(body)).toMatchObject({ result: 'created' });
    expect((await read())['spec']).toEqual(stored);
    expect(await apply(body)).toMatchObject({ result: 'unchanged' });
    expect(await apply(await read())).toMatchObject({ result: 'unchanged' });
  });

  it('is shown with its defaults by a dry run', async () => {
    const answer = await api.inject({ method: 'PUT', url: `${url}?dryRun=true`, payload: body });
    expect(answer.json<{ resource: JsonObject }>().resource['spec']).toEqual(stored);
  });
});

describe('a MeshService', () => {
  const url = '/meshes/default/meshservices/a';
  const put = async (ports: JsonObject[], labels: JsonObject): Promise<unknown> => {
    const payload = {
      type: 'MeshService',
      mesh: 'default',
      name: 'a',
      labels,
      spec: { selector: { dataplaneTags: { a: 'b' } }, ports },
    };
    const answer = await api.inject({ method: 'PUT', url, payload });
    expect(answer.statusCode, answer.body).toBeLessThan(300);
    return (await api.inject({ url })).json<{ spec: unknown }>().spec;
  };

  beforeEach(() => {
    api = testApi(new TinyStore(), 'alone');
  });

  it('gets the protocol of its annotation for a port without one, else tcp', async () => {
    await api.inject({ method: 'PUT', url: '/meshes/default', payload: { type: 'Mesh', name: 'default' } });
    const annotated = { 'gateway.networking.k8s.io/app-protocol': 'http2' };
    expect(await put([{ port: 80 }, { port: 81, appProtocol: 'grpc' }], annotated)).toMatchObject({
      state: 'Unavailable',
      ports: [
        { port: 80, appProtocol: 'http2' },
        { port: 81, appProtocol: 'grpc' },
      ],
    });
    expect(await put([{ port: 80 }], {})).toMatchObject({ ports: [{ port: 80, appProtocol: 'tcp' }] });
  });
});
