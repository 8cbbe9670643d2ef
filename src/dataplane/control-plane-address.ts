// The addresses of `--cp-address`. Pure.
import { MeridianError } from '../base/errors.ts';

export type ControlPlaneAddress = {
  /** A name or an IP address, without the brackets of IPv6. */
  readonly host: string;
  readonly port: number;
  /** `https://HOST:PORT` */
  readonly url: string;
};

const EXAMPLE = 'https://localhost:5678';
const DEFAULT_PORT = 5678;

/** @throws MeridianError `config` for a text that is no such address */
export function parseControlPlaneAddress(text: string): ControlPlaneAddress {
  const refuse = (why: string): MeridianError =>
    new MeridianError('config', `--cp-address: ${JSON.stringify(text)} ${why}; write it as ${EXAMPLE}`);
  const url = URL.parse(text);
  if (url === null || url.hostname === '') throw refuse('is no URL');
  if (url.protocol !== 'https:') throw refuse('does not start with https://');
  if (url.pathname !== '/' || url.search !== '' || url.username !== '') throw refuse('has more than a host and a port');
  // URL leaves the port of https out.
  const isUsual = url.port === '' && /:443\/?$/.test(text);
  const port = url.port === '' ? (isUsual ? 443 : DEFAULT_PORT) : Number(url.port);
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  return { host, port, url: `https://${url.hostname}:${String(port)}` };
}
