import { describe, expect, it } from 'vitest';
import { parseControlPlaneAddress } from './control-plane-address.ts';

describe('the address of a control plane', () => {
  it.each([
    ['https://east.example:5678', 'east.example', 5678],
    ['https://east.example', 'east.example', 5678],
    ['https://east.example/', 'east.example', 5678],
    ['https://east.example:443', 'east.example', 443],
    ['https://10.0.0.1:9', '10.0.0.1', 9],
    ['https://[::1]:5678', '::1', 5678],
  ])('%s is read', (text, host, port) => {
    const shown = host.includes(':') ? `[${host}]` : host;
    expect(parseControlPlaneAddress(text)).toEqual({ host, port, url: `https://${shown}:${String(port)}` });
  });

  it.each([
    'http://east.example:5678',
    'east.example:5678',
    'https://east.example/path',
    'https://u:p@east.example',
    '',
    'https://',
  ])('%j is refused with an example', (text) => {
    expect(() => parseControlPlaneAddress(text)).toThrow(/^--cp-address: .*write it as https:\/\/localhost:5678$/);
  });
});
