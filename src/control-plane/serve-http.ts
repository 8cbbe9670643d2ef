// The HTTP ports of a control plane: diagnostics, and the REST API with and without TLS.
// Invariant: the API's `close` closes both of its ports; the error for an unavailable port names the configuration key.
import type { FastifyInstance } from 'fastify';
import type { Registry } from 'prom-client';
import { createApi } from '../api/create-api.ts';
import type { ApiOptions } from '../api/api-options.ts';
import { createDiagnostics } from '../http/diagnostics.ts';
import { HttpsListener } from '../http/https-listener.ts';
import type { Config } from '../base/config.ts';
import { MeridianError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { serverTls } from '../base/server-tls.ts';

export async function serveDiagnostics(
  { diagnostics }: Config,
  options: { readonly ready: () => Promise<boolean>; readonly metrics: Registry },
): Promise<FastifyInstance> {
  const server = createDiagnostics(options);
  const at = { interface: diagnostics.interface, port: diagnostics.serverPort };
  await listen('diagnostics.serverPort', at, () => server.listen({ host: at.interface, port: at.port }));
  return server;
}

type ServedApi = {
  readonly server: FastifyInstance;
  /** It is null if HTTPS is disabled. */
  readonly httpsPort: number | null;
  /** Applies renewed certificates until the signal aborts; null if HTTPS is disabled. */
  readonly followCertificate: ((signal: AbortSignal, log: Logger) => Promise<void>) | null;
  /** The expiry of the certificate in use; null if HTTPS is disabled, or it is unknown. */
  readonly certificateEndsAt: () => Date | null;
};

/** Serves the API on the ports of `apiServer`. Rejects with MeridianError `config` if one is unavailable. */
export async function serveApi(options: ApiOptions, { apiServer, general }: Config): Promise<ServedApi> {
  const timeouts: NonNullable<ApiOptions['timeouts']> = {
    headers: apiServer.readHeaderTimeout,
    request: apiServer.readTimeout,
    idle: apiServer.idleTimeout,
  };
  const server = createApi({ ...options, timeouts });
  try {
    // Register this before the API listens: it closes both ports.
    const tls = apiServer.https.enabled ? await serverTls('apiServer.https', apiServer.https, general, options.clock) : null;
    const https = tls === null ? null : new HttpsListener(server, { ...tls, clock: options.clock, timeouts });
    if (apiServer.http.enabled)
      await listen('apiServer.http.port', apiServer.http, () =>
        server.listen({ host: apiServer.http.interface, port: apiServer.http.port }),
      );
    else await server.ready();
    if (tls === null || https === null)
      return { server, httpsPort: null, followCertificate: null, certificateEndsAt: () => null };
    const httpsPort = await listen('apiServer.https.port', apiServer.https, () =>
      https.listen(apiServer.https.interface, apiServer.https.port),
    );
    const followCertificate = (signal: AbortSignal, log: Logger): Promise<void> =>
      tls.follow((material) => https.replace(material), signal, log);
    return { server, httpsPort, followCertificate, certificateEndsAt: tls.endsAt };
  } catch (error) {
    await server.close();
    throw error;
  }
}

/** Names the configuration key if the address is unavailable. */
async function listen<T>(
  key: string,
  at: { readonly interface: string; readonly port: number },
  bind: () => Promise<T>,
): Promise<T> {
  return await bind().catch((cause: unknown) => {
    const where = `${at.interface}:${String(at.port)}`;
    throw new MeridianError('config', `${key}: cannot listen on ${where}; free it or choose another port`, { cause });
  });
}
