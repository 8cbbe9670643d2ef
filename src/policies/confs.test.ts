// A mistyped field of a conf does not compile: the type check fails where one of the marked lines is right.
import { expect, it } from 'vitest';
import type { JsonObject } from '../resource/types.ts';
import type { Conf } from './confs.ts';
import type { ProxyModification } from './mesh-proxy-patch/spec.ts';
import type { BackendRef, HttpMatch, RouteConf, RouteFilter, WrittenHttpRule } from './routes.ts';

it('the conf of a type has its fields alone, each with the values of its schema', () => {
  const timeout: Conf<'MeshTimeout'> = { http: { requestTimeout: '5s' } };
  const tls: Conf<'MeshTLS'> = { mode: 'Strict' };
  // @ts-expect-error a field that the schema does not have
  expect(timeout.http?.requestTimeuot).toBeUndefined();
  // @ts-expect-error a value that the schema does not have
  expect(tls.mode === 'Strickt').toBe(false);
  // @ts-expect-error a conf of another type
  const retry: Conf<'MeshRetry'> = { http: { requestTimeout: '5s' } };
  expect(retry).toBeDefined();
});

it('the rule of a route has the fields of its schema alone, in its matches, its filters and its backends', () => {
  const match: HttpMatch = { path: { type: 'PathPrefix', value: '/a' } };
  const filter: RouteFilter = { type: 'URLRewrite', urlRewrite: { hostname: 'a.b' } };
  const backend: BackendRef = { kind: 'MeshService', name: 'cart', port: 80, weight: 1 };
  const conf: RouteConf = { filters: [filter], backendRefs: [backend] };
  // @ts-expect-error a field that the schema does not have
  expect(match.path?.pattern).toBeUndefined();
  // @ts-expect-error a value that the schema does not have
  expect(match.path?.type === 'Prefix').toBe(false);
  // @ts-expect-error a field that the schema does not have
  expect(conf.filters?.[0]?.urlRewrite?.host).toBeUndefined();
  // @ts-expect-error a text in place of a number
  const named: BackendRef = { ...backend, port: 'http' };
  // @ts-expect-error a field that the schema does not have
  expect(named.wieght).toBeUndefined();
});

it('a rule that Meridian writes has the fields of the schema alone', () => {
  const rule: WrittenHttpRule = { matches: [{ method: 'GET' }], default: {} };
  // @ts-expect-error a value that the schema does not have
  rule.matches = [{ path: { type: 'Prefix', value: '/' } }];
  // @ts-expect-error a field that the schema does not have
  rule.default = { backends: [] };
  // @ts-expect-error a filter of a backend that the schema does not have
  rule.default = { backendRefs: [{ kind: 'MeshService', name: 'cart', filters: [{ type: 'URLRewrite' }] }] };
  expect(rule).toBeDefined();
});

it('the conf of a whole proxy has its fields alone', () => {
  const trace: Conf<'MeshTrace'> = { sampling: { client: 5 } };
  const metric: Conf<'MeshMetric'> = {};
  // @ts-expect-error a field that the schema does not have
  expect(trace.sampling?.cleint).toBeUndefined();
  // @ts-expect-error a field of an item that the schema does not have
  expect(metric.backends?.[0]?.prometheus?.prot).toBeUndefined();
  // @ts-expect-error a value that the schema does not have
  const passthrough: Conf<'MeshPassthrough'> = { passthroughMode: 'Al' };
  expect(passthrough).toBeDefined();
  const modification: ProxyModification = { cluster: { operation: 'Remove', match: { name: 'a' } } };
  // @ts-expect-error a field of a match that the schema does not have
  expect(modification.cluster?.match?.listenerName).toBeUndefined();
});

it('JSON of any shape is neither a conf nor a part of one', () => {
  const json: JsonObject = { http: { requestTimeout: 5 } };
  // @ts-expect-error no check has seen it
  const timeout: Conf<'MeshTimeout'> = json;
  // @ts-expect-error no check has seen it
  const http: Conf<'MeshTimeout'>['http'] = json;
  expect([timeout, http]).toEqual([json, json]);
});
