// When certificates and tokens end, as metrics: seconds since 1970, so that an alert subtracts `time()`. Invariant: a certificate
// or token that is no longer in use has no series. Every scrape reads the current values.
import { Gauge, type Registry } from 'prom-client';

type Ends = ReadonlyMap<string, Date>;

export type ExpiryMetrics = {
  /** Shows when the certificate of a server of this process ends. @param endsAt of the certificate in use; null if unknown */
  readonly certificate: (server: 'api' | 'kds', endsAt: () => Date | null) => void;
  /** Shows when tokens of zones end. @param read name of a zone → the end of its token; where it rejects, nothing is shown */
  readonly zoneTokens: (read: () => Ends | Promise<Ends>) => void;
};

/** Registers the metrics and returns what feeds them. Once per registry. */
export function createExpiryMetrics(registry: Registry): ExpiryMetrics {
  const registers = [registry];
  const certificates = new Map<string, () => Date | null>();
  let readTokens = (): Ends | Promise<Ends> => new Map();
  new Gauge({
    name: 'meridian_server_certificate_expiration_timestamp_seconds',
    help: 'Expiry of the certificate of a server of this process, in seconds since 1970',
    labelNames: ['server'],
    registers,
    collect() {
      this.reset();
      for (const [server, endsAt] of certificates) {
        const end = endsAt();
        if (end !== null) this.set({ server }, end.getTime() / 1000);
      }
    },
  });
  new Gauge({
    name: 'meridian_zone_token_expiration_timestamp_seconds',
    help: 'Expiry of the token of a zone, in seconds since 1970',
    labelNames: ['zone_name'],
    registers,
    async collect() {
      const tokens = await Promise.resolve()
        .then(() => readTokens())
        .catch((): Ends => new Map());
      this.reset();
      for (const [zone, end] of tokens) this.set({ zone_name: zone }, end.getTime() / 1000);
    },
  });
  return {
    certificate: (server, endsAt) => void certificates.set(server, endsAt),
    zoneTokens: (read) => {
      readTokens = read;
    },
  };
}
