import { describe, expect, it } from 'vitest';
import type { Json } from '../resource/types.ts';
import { redirectsOutbounds, transparentProxying } from './transparent-proxying.ts';

const read = (given: Json) => transparentProxying({ spec: { networking: { transparentProxying: given } } });

describe('the transparent proxying of a Dataplane', () => {
  it.each<[given: Json, ports: (number | null)[] | null]>([
    [null, null],
    [{}, null],
    [{ redirectPortInbound: 0, redirectPortOutbound: 65_536 }, null],
    [{ redirectPortInbound: 1.5, redirectPortOutbound: -1 }, null],
    [{ redirectPortInbound: 15_006 }, [15_006, null]],
    [{ redirectPortOutbound: 15_001 }, [null, 15_001]],
    [{ redirectPortInbound: 1, redirectPortOutbound: 65_535 }, [1, 65_535]],
    [{ redirectPortInbound: 0, redirectPortOutbound: 15_001 }, [null, 15_001]],
  ])('%j redirects to the ports %j', (given, ports) => {
    const found = read(given);
    expect(found === null ? null : [found.inboundPort, found.outboundPort]).toEqual(ports);
  });

  it.each<[mode: string | undefined, families: number[] | null]>([
    ['IPv4', [4]],
    ['IPv6', [4, 6]],
    ['DualStack', [4, 6]],
    ['Other', null],
    [undefined, null],
  ])('of the mode %s is for IP %j', (mode, families) => {
    expect(read({ redirectPortInbound: 1, ...(mode !== undefined && { ipFamilyMode: mode }) })?.families).toEqual(families);
  });
});

it.each<[given: Json, expected: boolean]>([
  [{ redirectPortOutbound: 15_001 }, true],
  [{ redirectPortInbound: 15_006 }, false],
  [null, false],
])('%j redirects the connections of the application: %s', (given, expected) => {
  expect(redirectsOutbounds({ spec: { networking: { transparentProxying: given } } })).toBe(expected);
});
