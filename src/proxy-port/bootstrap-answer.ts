// The answer to `POST /bootstrap`: the configuration that an Envoy starts with, for the program that starts it (xds 1). Statuses are
// those that Kuma's program expects. The token is not checked here: it is part of the answer and shown on the stream.
import { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import { stringify } from 'yaml';
import { MeridianError } from '../base/errors.ts';
import { parseJsonBody } from '../api/json-body.ts';
import { draftOf, MESH_NAME, type WriteRules } from '../api/write-checks.ts';
import type { ControlPlaneIdentity } from '../resource/compute-labels.ts';
import { isObject, objectOf, textOf } from '../resource/read-json.ts';
import { typeOf } from '../resource/type-registry.ts';
import type { JsonObject, Resource } from '../resource/types.ts';
import { bootstrapConfig, nodeMetadata } from '../xds/bootstrap.ts';

export type BootstrapRequest = {
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
  /** A stored Dataplane; null if there is none. */
  readonly dataplane: (mesh: string, name: string) => Promise<Resource | null>;
  readonly writer: ControlPlaneIdentity;
};

export type BootstrapAnswer = { readonly status: number; readonly type: string; readonly body: string };

const HTTPS_PORT = 443;
const MAX_NAME = 253;
/** What a header may hold. */
const TOKEN = /^[\x21-\x7e]{1,8192}$/;

/** The answer to a request. Rejects as the store does. */
export async function answerBootstrap(request: BootstrapRequest, sources: BootstrapSources): Promise<BootstrapAnswer> {
  try {
    const asked = readRequest(request, sources);
    const networking = await networkingOf(asked, sources);
    if (networking === null) return { status: 404, type: 'text/plain', body: '' };
    const config = bootstrapConfig({ ...asked, metadata: nodeMetadata(asked.request) });
    if (/\b(?:application|text)\/(?:x-)?yaml\b/.test(request.accept))
      return { status: 200, type: 'text/x-yaml', body: stringify(config) };
    const body = {
      bootstrap: Buffer.from(JSON.stringify(config)).toString('base64'),
      kumaSidecarConfiguration: { networking: { address: textOf(networking['address']) }, metrics: { aggregate: null } },
    };
    return { status: 200, type: 'application/json', body: JSON.stringify(body) };
  } catch (error) {
    if (error instanceof Unusable) return { status: error.status, type: 'text/plain', body: error.message };
    throw error;
  }
}

/** A request that gets no configuration, with the sentence that its sender prints. */
class Unusable extends Error {
  readonly status: number;

  constructor(status: number, text: string) {
    super(text);
    this.status = status;
  }
}

type Asked = {
  readonly request: JsonObject;
  readonly mesh: string;
  readonly name: string;
  readonly controlPlane: { readonly host: string; readonly port: number };
  readonly caCert: string;
  readonly token: string;
  readonly workdir: string;
};

function readRequest({ body, host }: BootstrapRequest, { certificate, needsToken }: BootstrapSources): Asked {
  const request = jsonOf(body, 400);
  const own = certificate();
  const controlPlane = addressOf(host);
  requireNameOf(own, controlPlane.host);
  const proxyType = textOf(request['proxyType']);
  if (proxyType !== '' && proxyType !== 'dataplane')
    throw new Unusable(422, `proxyType: must be dataplane; zone proxies are Dataplanes with listeners`);
  return {
    request,
    mesh: nameIn(request, 'mesh', (text) => MESH_NAME.test(text)),
    name: nameIn(request, 'name', (text) => text !== '' && text.length <= MAX_NAME),
    controlPlane,
    caCert: caOf(request) || own,
    token: tokenOf(request, needsToken),
    workdir: nameIn(request, 'workdir', (text) => text !== ''),
  };
}

function jsonOf(text: string, status: number): JsonObject {
  let value: unknown;
  try {
    value = parseJsonBody(text);
  } catch (error) {
    if (error instanceof MeridianError) throw new Unusable(status, error.message);
    throw error;
  }
  if (!isObject(value)) throw new Unusable(status, 'the body must be a JSON object');
  return value;
}

function nameIn(request: JsonObject, key: string, isName: (text: string) => boolean): string {
  const text = textOf(request[key]);
  if (!isName(text)) throw new Unusable(422, `${key}: must be given, in the form that the control plane takes`);
  return text;
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

function tokenOf(request: JsonObject, isNeeded: boolean): string {
  const token = textOf(request['dataplaneToken']).trim();
  if (token === '' && isNeeded)
    throw new Unusable(
      422,
      'a dataplane token is required: make one with `meridian generate dataplane-token` or `kumactl generate dataplane-token`, ' +
        'and give it with --dataplane-token-file',
    );
  if (token !== '' && !TOKEN.test(token)) throw new Unusable(422, 'dataplaneToken: must be at most 8192 visible characters');
  return token;
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
