// YAML as the notation of bodies and answers: the same resources, and errors with the line of the field.
import type { FastifyInstance } from 'fastify';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Answer } from '../../src/answers/answers.ts';
import { MAX_YAML_BYTES } from '../../src/http/yaml.ts';
import { TinyStore } from '../support/tiny-store.ts';
import { testApi } from '../api/test-api.ts';

const SLOW = '/meshes/default/meshtimeouts/slow';
const TEXT = `# patience
type: MeshTimeout
mesh: default
name: slow
spec:
  targetRef: { kind: Mesh }
  to:
    - targetRef: { kind: Mesh }
      default:
        idleTimeout: 7s
`;

let store: TinyStore;
let app: FastifyInstance;

beforeEach(async () => {
  store = new TinyStore();
  await store.write({ op: 'create', key: { type: 'Mesh', mesh: '', name: 'default' }, labels: {}, spec: {} });
  app = testApi(store, 'global');
});
afterEach(async () => await app.close());

type Reply = Awaited<ReturnType<FastifyInstance['inject']>>;

const send = async (method: 'PUT' | 'POST', url: string, payload: string, accept = '*/*'): Promise<Reply> =>
  await app.inject({ method, url, payload, headers: { host: 'localhost', 'content-type': 'application/yaml', accept } });

describe('YAML in the REST API', () => {
  it('is stored as JSON is, and printed for a caller that names it', async () => {
    expect((await send('PUT', SLOW, TEXT)).statusCode).toBe(201);
    const answer = await app.inject({ url: SLOW, headers: { host: 'localhost', accept: 'application/yaml' } });
    expect([answer.headers['content-type'], answer.headers['etag']]).toEqual(['application/yaml', '"0-0"']);
    expect(answer.body).toContain('      default:\n        idleTimeout: 7s\n');
    expect((await send('PUT', SLOW, answer.body)).statusCode).toBe(200);
    const asJson = await app.inject({ url: SLOW, headers: { host: 'localhost' } });
    expect(asJson.json<{ name: string }>().name).toBe('slow');
  });

  it('names the line of each invalid field', async () => {
    const { statusCode, body } = await send('PUT', SLOW, TEXT.replace('7s', 'soon'));
    expect(statusCode).toBe(400);
    const { invalid_parameters } = JSON.parse(body) as Answer<'Error'>;
    expect(invalid_parameters).toMatchObject([{ field: 'spec.to[0].default.idleTimeout', line: 10, column: 9 }]);
    const many = await send('POST', '/_apply', `${TEXT}---\n${TEXT.replace('7s', 'soon')}`);
    expect(many.json<Answer<'Error'>>().invalid_parameters).toMatchObject([
      { field: 'documents[1].spec.to[0].default.idleTimeout', line: 21 },
    ]);
    expect(store.rows.size).toBe(1);
  });

  it.each([
    ['after empty documents', `---\n---\n# nothing\n---\n${TEXT.replace('7s', 'soon')}`, 14],
    ['after a document of comments', `${TEXT}---\n# nothing\n---\n${TEXT.replace('7s', 'soon')}`, 23],
    [
      'in Kubernetes form',
      'apiVersion: kuma.io/v1alpha1\nkind: MeshTimeout\nmesh: default\nmetadata:\n  name: slow\n  labels:\n    "a b": c\nspec: { to: [{ targetRef: { kind: Mesh }, default: { idleTimeout: 7s } }] }\n',
      7,
    ],
    ['under a spec that the Universal form has not', 'type: Zone\nname: east\nspec:\n  enabled: maybe\n', 4],
  ])('names the line of a field %s', async (_, text, line) => {
    const { statusCode, body } = await send('POST', '/_apply', text);
    expect([statusCode, (JSON.parse(body) as Answer<'Error'>).invalid_parameters?.[0]]).toMatchObject([400, { line }]);
  });

  it('names the line at which a text is no YAML', async () => {
    const { statusCode, body } = await send('PUT', SLOW, TEXT.replace('name: slow', 'mesh: again'));
    expect(statusCode).toBe(400);
    expect((JSON.parse(body) as Answer<'Error'>).invalid_parameters).toMatchObject([{ line: 4, column: 1 }]);
  });

  it('takes several documents where a list is taken', async () => {
    const { statusCode, body } = await send('POST', '/_apply?dryRun=true', `${TEXT}---\n${TEXT.replaceAll('slow', 'fast')}`);
    expect([statusCode, (JSON.parse(body) as Answer<'Applied'>).items.map(({ name }) => name)]).toEqual([200, ['slow', 'fast']]);
    expect((await send('PUT', SLOW, `${TEXT}---\n${TEXT}`)).statusCode).toBe(400);
  });

  it('refuses bodies that take too long or too much, and other routes', async () => {
    const bomb = ['a: &a [x, x, x, x, x, x, x, x, x, x]', ...'bcdefghi'.split('').map((key, at) => {
      const before = 'abcdefgh'[at] ?? '';
      return `${key}: &${key} [${Array.from({ length: 10 }, () => `*${before}`).join(', ')}]`;
    })].join('\n'); // oxfmt-ignore
    expect((await send('PUT', SLOW, bomb)).statusCode).toBe(400);
    expect((await send('PUT', SLOW, `a: ${'['.repeat(2_000)}`)).statusCode).toBe(400);
    expect((await send('PUT', SLOW, '__proto__: { a: 1 }')).statusCode).toBe(400);
    expect((await send('PUT', SLOW, `# ${'x'.repeat(MAX_YAML_BYTES)}`)).statusCode).toBe(413);
    expect((await send('POST', `${SLOW}/_rollback`, 'to: 1')).statusCode).toBe(415);
  });

  it('refuses more bytes by aliases than a body in JSON may have', async () => {
    const aliases = Array.from({ length: 20 }, () => '*long').join(', ');
    const { statusCode, body } = await send('PUT', SLOW, `${TEXT}long: &long ${'x'.repeat(60_000)}\nmore: [${aliases}]\n`);
    expect([statusCode, body]).toEqual([413, expect.stringContaining('when its aliases are written out')]);
    expect(store.rows.size).toBe(1);
  });

  it.each([
    ['a number that is not finite', 'spec: { to: [.inf] }', 'spec.to[0]', 'must be a finite number'],
    ['a date', '%YAML 1.1\n---\nspec: { from: 2001-01-01 }', 'spec.from', 'must be a text, a number'],
    ['bytes', '%YAML 1.1\n---\nspec: !!binary aGVsbG8=', 'spec', 'must be a text, a number'],
  ])('refuses %s, which JSON has not', async (_what, text, field, reason) => {
    const { statusCode, body } = await send('POST', '/_format', text);
    expect(statusCode).toBe(400);
    const { invalid_parameters } = JSON.parse(body) as Answer<'Error'>;
    expect(invalid_parameters).toMatchObject([{ field, reason: expect.stringContaining(reason) as string }]);
  });

  it('changes the notation of a document', async () => {
    const asJson = await send('POST', '/_format', TEXT);
    expect(asJson.json<{ spec: unknown }>().spec).toMatchObject({ targetRef: { kind: 'Mesh' } });
    const headers = { host: 'localhost', 'content-type': 'application/json', accept: 'application/yaml' };
    const asYaml = await app.inject({ method: 'POST', url: '/_format', payload: '{"a": [1, "true"]}', headers });
    expect(asYaml.body).toBe('a:\n  - 1\n  - "true"\n');
  });
});
