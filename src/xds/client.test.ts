// What is read of a client, which makes a part its own, and which changes of a Dataplane make another client of it.
import { expect, it } from 'vitest';
import { makeDataplane, type Made } from '../../test/policy/make-resource.ts';
import { parseDataplane } from '../policy/dataplane-proxy.ts';
import type { JsonObject } from '../resource/types.ts';
import { Client, isSameClient } from './client.ts';
import { WITHOUT_FEATURES, type ProxyFeatures } from './proxy-features.ts';

const proxyOf = (made: Made = {}, networking: JsonObject = {}) =>
  parseDataplane(makeDataplane('web', { zone: 'east', ...made }, networking));

it.each<[what: string, read: (client: Client) => unknown, value: unknown, isRead: boolean]>([
  ['its zone', (client) => client.zone, 'east', false],
  ['a label', (client) => client.labels['app'], 'web', true],
  ['its workload', (client) => client.workload, 'web', true],
  ['its address', (client) => client.address, '10.0.0.1', true],
])('who reads %s of a client depends on it: %#', (_, read, value, isRead) => {
  const client = new Client(proxyOf({ labels: { app: 'web' } }));
  expect(client.takeRead()).toBe(false);
  expect(read(client)).toBe(value);
  expect([client.takeRead(), client.takeRead()]).toEqual([isRead, false]);
});

it.each<[keyof ProxyFeatures, isRead: boolean]>([
  ['reusePort', false],
  ['systemCa', false],
  ['companion', true],
  ['metricsCertificate', true],
])('who reads the feature %s of a machine depends on it: %s', (key, isRead) => {
  const features = { ...WITHOUT_FEATURES, companion: '/run/dp', metricsCertificate: { certificate: '/c', key: '/k' } };
  const client = new Client(proxyOf());
  expect(client.featuresOf(features)[key]).toEqual(features[key]);
  expect(client.takeRead()).toBe(isRead);
});

it('the workload of a client is that of its label, else its name', () => {
  expect(new Client(proxyOf({ labels: { 'kuma.io/workload': 'cart' } })).workload).toBe('cart');
  expect(new Client(proxyOf({ labels: { 'kuma.io/display-name': 'shown' } })).workload).toBe('shown');
});

const redirected = { transparentProxying: { redirectPortInbound: 15_006, redirectPortOutbound: 15_001 } };

it.each<[what: string, made: Made, networking: JsonObject, isSame: boolean]>([
  ['nothing', {}, {}, true],
  ['inbounds', {}, { inbound: [] }, true],
  ['a port for inbound connections', {}, { transparentProxying: { redirectPortInbound: 15_006 } }, true],
  ['a port for outbound connections', {}, redirected, true],
  ['a label', { labels: { app: 'other' } }, {}, false],
  ['a zone', { zone: 'west' }, {}, false],
  ['an address', {}, { address: '10.0.0.2' }, false],
])('a Dataplane with another one of %s is the same client: %#', (_, made, networking, isSame) => {
  expect(isSameClient(proxyOf(), proxyOf(made, networking))).toBe(isSame);
  expect(isSameClient(proxyOf(made, networking), proxyOf())).toBe(isSame);
});
