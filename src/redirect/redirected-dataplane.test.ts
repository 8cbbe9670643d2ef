// The Dataplane of a redirection.
import { describe, expect, it } from 'vitest';
import { redirectedDataplane } from './redirected-dataplane.ts';
import { readSettings } from './settings.ts';

const given = (transparentProxying?: object) => ({ name: 'cart-1', networking: { address: '10.0.0.1', transparentProxying } });

describe('a redirected Dataplane', () => {
  it('has the ports and the families of the settings, and keeps what it reaches', () => {
    const settings = readSettings({ ipFamilyMode: 'ipv4', redirect: { outbound: { port: 16_001 } } });
    const reached = { reachableBackends: { refs: [] } };
    expect(redirectedDataplane(given(reached), settings).networking).toEqual({
      address: '10.0.0.1',
      transparentProxying: { ...reached, redirectPortInbound: 15_006, redirectPortOutbound: 16_001, ipFamilyMode: 'IPv4' },
    });
  });

  it('has no port of a direction that is off', () => {
    const settings = readSettings({ redirect: { inbound: { enabled: false } } });
    expect(redirectedDataplane(given({ redirectPortInbound: 0 }), settings).networking.transparentProxying).toEqual({
      redirectPortInbound: 0,
      redirectPortOutbound: 15_001,
      ipFamilyMode: 'DualStack',
    });
  });

  it.each([
    [{ redirectPortInbound: 1 }, 'redirectPortInbound: the Dataplane says 1, and the settings of the transparent proxy 15006'],
    [{ ipFamilyMode: 'IPv4' }, 'ipFamilyMode: the Dataplane says IPv4, and the settings of the transparent proxy DualStack'],
  ])('may not say otherwise: %j', (written, text) => {
    expect(() => redirectedDataplane(given(written), readSettings({}))).toThrow(`networking.transparentProxying.${text}`);
  });
});
