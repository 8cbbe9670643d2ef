// Metrics of the expiry of certificates and tokens, in seconds since 1970, so that an alert subtracts `time()`. Invariant: an unused
// certificate or token has no series. Every scrape reads the current values.
import { Gauge, type Registry } from 'prom-client';

type Ends = ReadonlyMap<string, Date>;

export type ExpiryMetrics = {
  /**
   * Shows the expiry of a server certificate of this process.
   * @param endsAt the expiry of the certificate in use; null if unknown
   */
  readonly certificate: (server: 'api' | 'kds' | 'proxies', endsAt: () => Date | null) => void;
  /** Shows the expiry of the tokens of zones. @param read name of a zone → the expiry of its token; if it rejects, nothing is shown */
  readonly zoneTokens: (read: () => Ends | Promise<Ends>) => void;
  /** The present values of the metrics: the ends of certificates by server, and of tokens by zone. */
  readonly ends: () => Promise<{ readonly certificates: Ends; readonly tokens: Ends }>;
};

/** Registers the metrics. Call it once per registry. */
export function createExpiryMetrics(registry: Registry): ExpiryMetrics {
  const registers = [registry];
  const certificates = new Map<string, () => Date | null>();
  let readTokens = (): Ends | Promise<Ends> => new Map();
  const certificateEnds = (): Ends =>
    new Map(
      [...certificates].flatMap(([server, endsAt]): [string, Date][] => {
        const end = endsAt();
        return end === null ? [] : [[server, end]];
      }),
    );
  const tokenEnds = (): Promise<Ends> =>
    Promise.resolve()
      .then(() => readTokens())
      .catch((): Ends => new Map());
  new Gauge({
    name: 'meridian_server_certificate_expiration_timestamp_seconds',
    help: 'Expiry of the certificate of a server of this process, in seconds since 1970',
    labelNames: ['server'],
    registers,
    collect() {
      this.reset();
      for (const [server, end] of certificateEnds()) this.set({ server }, end.getTime() / 1000);
    },
  });
  new Gauge({
    name: 'meridian_zone_token_expiration_timestamp_seconds',
    help: 'Expiry of the token of a zone, in seconds since 1970',
    labelNames: ['zone_name'],
    registers,
    async collect() {
      const tokens = await tokenEnds();
      this.reset();
      for (const [zone, end] of tokens) this.set({ zone_name: zone }, end.getTime() / 1000);
    },
  });
  return {
    certificate: (server, endsAt) => void certificates.set(server, endsAt),
    zoneTokens: (read) => {
      readTokens = read;
    },
    ends: async () => ({ certificates: certificateEnds(), tokens: await tokenEnds() }),
  };
}
