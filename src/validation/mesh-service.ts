// MeshService (policies 2.7, MADR 095): a service of one zone. The fields that the zone computes (state, identities, zoneIngress)
// may be written, so that the answer of a GET can be put; they stay as computed (D21).
import { z } from 'zod';
import { labelSelector } from '../schema/label-selector.ts';
import { address, choice, must, port, SECTION_NAME, sectionName, text, textMap } from '../schema/spec-fields.ts';
import { withRules } from '../schema/spec-rules.ts';
import { child } from '../resource/spec-path.ts';

const SELECTORS = ['dataplaneRef', 'dataplaneLabels', 'dataplaneTags'];

const selector = withRules(
  z.object({
    dataplaneRef: z
      .object({ name: text('the name of a Dataplane').describe('The Dataplane, by its display name.') })
      .describe('One Dataplane.')
      .optional(),
    dataplaneLabels: labelSelector.describe('Dataplanes by their labels.').optional(),
    dataplaneTags: textMap()
      .describe('Dataplanes by tags of their inbounds. Use dataplaneLabels if no zone of Kuma 2.x needs it.')
      .optional(),
  }),
  (value, path, findings) => {
    const [first, ...others] = SELECTORS.filter((key) => value[key] !== undefined);
    for (const key of others) findings.violation(child(path, key), `must not be set beside ${first}: a service has one selector`);
  },
);

export const appProtocol = () =>
  choice('tcp', 'http', 'http2', 'grpc').describe('What the application speaks at this port.').default('tcp');

/** A port of a service. */
export const calledPort = () => port().describe('The port that clients call.');

const targetPort = must('a port from 1 to 65535 or the name of an inbound');
const servicePort = z.object({
  port: calledPort(),
  name: sectionName().describe('The section name; the port as text if not set.').optional(),
  targetPort: z
    .union([z.int().min(1, targetPort).max(65_535, targetPort), z.string().regex(SECTION_NAME, targetPort)], targetPort)
    .describe('Port or name of an inbound; the same port if not set.')
    .optional(),
  appProtocol: appProtocol(),
});

export const meshServiceSpec = withRules(
  z.object({
    state: choice('Available', 'Unavailable')
      .describe('Whether a proxy of the service is healthy. The zone computes it.')
      .default('Unavailable'),
    selector: selector.describe('The Dataplanes that offer the service, in its zone. None if not set.').optional(),
    ports: z.array(servicePort).describe('Ports that clients call.').optional(),
    identities: z
      .array(
        z.object({
          type: choice('SpiffeID', 'ServiceTag').describe('Form of value. ServiceTag is that of Kuma 2.x.'),
          value: text().describe('A SPIFFE ID, or the value of kuma.io/service.'),
        }),
      )
      .describe('Identities of the proxies of the service, which clients expect. The zone computes them.')
      .optional(),
    zoneIngress: z
      .object({
        address: address().describe('IP address or DNS name of the ingress.'),
        port: port().describe('The port on which the ingress listens.'),
        sni: text('the SNI of the first port').describe('Server name by which the ingress knows the first port of the service.'),
      })
      .describe('Where other zones reach the service. The zone computes it.')
      .optional(),
  }),
  (spec, path, findings) => {
    const given = spec['selector'];
    if (typeof given !== 'object' || given === null || SELECTORS.every((key) => !Object.hasOwn(given, key)))
      findings.warning(child(path, 'selector'), `selects no Dataplane: set one of ${SELECTORS.join(', ')}`);
  },
);
