import { expect, it } from 'vitest';
import { parseCollectorEndpoint } from './collector-endpoint.ts';

it.each([
  ['otel.example:4317', 'otel.example', 4317],
  ['otel', 'otel', 4317],
  ['Otel.Example:1', 'Otel.Example', 1],
  ['10.1.2.3:65535', '10.1.2.3', 65_535],
  ['[fd00:7::5]:4318', 'fd00:7::5', 4318],
  ['[::1]', '::1', 4317],
])('%s is a host and a port', (text, host, port) => {
  expect(parseCollectorEndpoint(text)).toEqual({ host, port });
});

it.each([
  '',
  ':4317',
  'otel:',
  'otel:0',
  'otel:04317',
  'otel:65536',
  'otel:99999',
  'otel:-1',
  'otel:4317x',
  'otel:4317/v1',
  'otel/v1',
  'otel?a=b',
  'otel#a',
  'user@otel:4317',
  'https://otel.example:4317',
  'grpc://otel:4317',
  'ot el:4317',
  'otel_1:4317',
  'fd00:7::5',
  '::1:4317',
  '[10.1.2.3]:4317',
  '[fd00:7::5',
  '[]:4317',
  '10.1.2.300:4317',
  '300:4317',
  `${'a'.repeat(64)}:4317`,
])('%j is none', (text) => {
  expect(parseCollectorEndpoint(text)).toBeNull();
});
