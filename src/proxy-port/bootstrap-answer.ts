// The answer to `POST /bootstrap`: the configuration that an Envoy starts with, for the program that starts it (xds 1). Statuses are
// those that Kuma's program expects. A caller without a good token learns nothing of Dataplanes.
import { randomUUID, X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import { stringify } from 'yaml';
import { MeridianError } from '../base/errors.ts';
import { certificatesOf } from '../base/pem.ts';
import { parseJsonBody } from '../http/json-body.ts';
import { storedNameOfGiven } from '../resource/given-name.ts';
import { draftOf, type WriteRules } from '../writes/write-checks.ts';
import type { ControlPlaneIdentity } from '../resource/compute-labels.ts';
import { objectOf, textOf } from '../resource/read-json.ts';
import { typeOf } from '../resource/type-registry.ts';
import type { JsonObject, Resource } from '../resource/types.ts';
import type { ProxyAuthenticator } from '../token/proxy-authenticator.ts';
import { bootstrapConfig, MESH, nodeMetadata, RUN, type BootstrapOptions } from '../xds/bootstrap.ts';
import { nameIn, proxyIn, refusing, requestIn, requireAllowed, tokenIn, Unusable, type PortAnswer } from './proxy-request.ts';

type BootstrapRequest = {
  /** Text of the body. */
  readonly body: string;
  /** Header `host`: where the proxy reaches this control plane. */
  readonly host: string;
  /** Header `accept`. */
  readonly accept: string;
};

export type BootstrapSources = {
  /** PEM of the certificate that this port shows. */
  readonly certificate: () => string;
  /** Whether a stream without a token would be refused. */
  readonly needsToken: boolean;
  readonly authenticator: Pick<ProxyAuthenticator, 'identify'>;
  /** A stored Dataplane; null if there is none. */
  readonly dataplane: (mesh: string, name: string) => Promise<Resource | null>;
  readonly writer: ControlPlaneIdentity;
  /** Whether Envoy reports its health and that of its applications. */
  readonly reportsHealth: boolean;
};

const HTTPS_PORT = 443;

/** The answer to a request. Rejects as the store does. */
export async function answerBootstrap(request: BootstrapRequest, sources: BootstrapSources): Promise<PortAnswer> {
  return await refusing(async () => {
    const asked = readRequest(request, sources);
    const name = storedNameOfGiven(textOf(asked.request['dataplaneResource']), asked.name);
    requireAllowed(await sources.authenticator.identify([asked.token], { mesh: asked.mesh, name }));
    const networking = await networkingOf(asked, sources);
    if (networking === null) return { status: 404, type: 'text/plain', body: '' };
    const metadata = { ...nodeMetadata(asked.request), ...ownMetadata(asked) };
    const config = bootstrapConfig({ ...asked, metadata, reportsHealth: sources.reportsHealth });
    if (/\b(?:application|text)\/(?:x-)?yaml\b/.test(request.accept))
      return { status: 200, type: 'text/x-yaml', body: stringify(config) };
    const body = {
      bootstrap: Buffer.from(JSON.stringify(config)).toString('base64'),
      kumaSidecarConfiguration: { networking: { address: textOf(networking['address']) }, metrics: { aggregate: null } },
    };
    return { status: 200, type: 'application/json', body: JSON.stringify(body) };
  });
}

/** Metadata that Kuma's program does not send. Envoy repeats it on its stream. */
function ownMetadata({ mesh }: Asked): JsonObject {
  return { [RUN]: randomUUID(), ...(mesh.includes('.') && { [MESH]: mesh }) };
}

type Asked = Omit<BootstrapOptions, 'metadata' | 'reportsHealth'> & { readonly request: JsonObject };

function readRequest({ body, host }: BootstrapRequest, { certificate, needsToken }: BootstrapSources): Asked {
  const request = requestIn(body);
  const own = certificate();
  const controlPlane = addressOf(host);
  requireNameOf(own, controlPlane.host);
  const proxyType = textOf(request['proxyType']);
  if (proxyType !== '' && proxyType !== 'dataplane')
    throw new Unusable(422, `proxyType: must be dataplane; zone proxies are Dataplanes with listeners`);
  return {
    request,
    ...proxyIn(request),
    controlPlane,
    // One file may hold the certificate and its key.
    caCert: certificatesOf(caOf(request) || own),
    token: tokenIn(request, needsToken),
    workdir: nameIn(request, 'workdir', (text) => text !== ''),
  };
}

function addressOf(host: string): Asked['controlPlane'] {
  const url = URL.parse(`https://${host}`);
  if (url === null || url.hostname === '') throw new Unusable(400, 'the header host names no host');
  return { host: url.hostname.replace(/^\[(.*)\]$/, '$1'), port: url.port === '' ? HTTPS_PORT : Number(url.port) };
}

/** Envoy refuses a certificate without the name that it dials. */
function requireNameOf(pem: string, host: string): void {
  const certificate = new X509Certificate(pem);
  const named = isIP(host) === 0 ? certificate.checkHost(host, { subject: 'never' }) : certificate.checkIP(host);
  if (named !== undefined) return;
  throw new Unusable(
    400,
    `the proxy reaches the control plane as ${JSON.stringify(host)}, and the certificate of the control plane is for ` +
      `${certificate.subjectAltName ?? 'no name'}; dial one of these, or set dpServer.tlsCertFile and dpServer.tlsKeyFile`,
  );
}

function caOf(request: JsonObject): string {
  const caCert = textOf(request['caCert']);
  if (caCert === '') return '';
  try {
    new X509Certificate(caCert);
    return caCert;
  } catch {
    throw new Unusable(422, 'caCert: must be a certificate in PEM');
  }
}

/** Of the Dataplane that the request brings, else of the stored one; null where there is neither. */
async function networkingOf({ request, mesh, name }: Asked, { dataplane, writer }: BootstrapSources): Promise<JsonObject | null> {
  const given = textOf(request['dataplaneResource']);
  if (given !== '') return objectOf(givenDataplane(given, { mesh, name }, writer)['networking']);
  const stored = await dataplane(mesh, name);
  return stored === null ? null : objectOf(stored.spec['networking']);
}

function givenDataplane(text: string, at: { mesh: string; name: string }, writer: ControlPlaneIdentity): JsonObject {
  const rules: WriteRules = { writer, checksOrigin: false };
  try {
    return draftOf(typeOf('Dataplane'), at, parseJsonBody(text), rules, { strict: false }).spec;
  } catch (error) {
    if (!(error instanceof MeridianError)) throw error;
    throw new Unusable(422, error.message);
  }
}
