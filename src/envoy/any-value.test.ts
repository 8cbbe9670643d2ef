import { describe, expect, it } from 'vitest';
import type { Json, JsonObject } from '../resource/types.ts';
import { anyValue } from './any-value.ts';

describe('JSON as a value of OpenTelemetry', () => {
  const text = (given: string): string => `<${given}>`;
  const string = (stringValue: string): JsonObject => ({ stringValue });

  it.each<[Json, JsonObject]>([
    ['a', string('<a>')],
    [1, string('1')],
    [true, string('true')],
    [null, string('')],
    [['a', 2], { arrayValue: { values: [string('<a>'), string('2')] } }],
    [{ a: 'b' }, { kvlistValue: { values: [{ key: 'a', value: string('<b>') }] } }],
    [{}, { kvlistValue: { values: [] } }],
  ])('%j is %j', (json, expected) => {
    expect(anyValue(json, text)).toEqual(expected);
  });

  it.each<[JsonObject, JsonObject]>([
    [{ stringValue: 'a' }, string('<a>')],
    [{ string_value: 'a' }, string('<a>')],
    [{ boolValue: true }, string('true')],
    [{ int_value: '5' }, string('5')],
    [{ doubleValue: 0.5 }, string('0.5')],
    [{ bytes_value: 'AA==' }, string('AA==')],
    [{ arrayValue: { values: ['a'] } }, { arrayValue: { values: [string('<a>')] } }],
    [{ array_value: {} }, { arrayValue: { values: [] } }],
    [
      { kvlistValue: { values: [{ key: 'a', value: { stringValue: 'b' } }, { key: 'c' }] } },
      {
        kvlistValue: {
          values: [
            { key: 'a', value: string('<b>') },
            { key: 'c', value: string('') },
          ],
        },
      },
    ],
  ])('%j is a value already: %j', (json, expected) => {
    expect(anyValue(json, text)).toEqual(expected);
  });

  it.each<JsonObject>([
    { stringValue: 1 },
    { intValue: {} },
    { bytesValue: null },
    { arrayValue: 'a' },
    { arrayValue: { values: 'a' } },
    { kvlistValue: { values: [{ key: 1 }] } },
    { kvlistValue: { values: ['a'] } },
    { stringValue: 'a', intValue: 1 },
    { otherValue: 'a' },
  ])('%j is none, but pairs', (json) => {
    expect(anyValue(json, text)).toEqual({
      kvlistValue: { values: Object.entries(json).map(([key, value]) => ({ key, value: anyValue(value, text) })) },
    });
  });
});
