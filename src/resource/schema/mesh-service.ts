// MeshService (policies 2.7, MADR 095): a service of one zone. What the zone computes (state, identities, zoneIngress) may be
// written, so that what GET shows can be put; it stays as computed (D21).
import { z } from 'zod';
import { labelSelector } from './label-selector.ts';
import { address, choice, must, port, SECTION_NAME, sectionName, text, textMap } from './spec-fields.ts';
import { withRules } from './spec-rules.ts';
import { child } from './spec-path.ts';

const SELECTORS = ['dataplaneRef', 'dataplaneLabels', 'dataplaneTags'];

const selector = withRules(
  z.object({
    dataplaneRef: z.object({ name: text('the name of a Dataplane') }).optional(),
    dataplaneLabels: labelSelector.optional(),
    dataplaneTags: textMap().optional(),
  }),
  (value, path, findings) => {
    const [first, ...others] = SELECTORS.filter((key) => value[key] !== undefined);
    for (const key of others) findings.violation(child(path, key), `must not be set beside ${first}: a service has one selector`);
  },
);

export const appProtocol = () => choice('tcp', 'http', 'http2', 'grpc').default('tcp');

const targetPort = must('a port from 1 to 65535 or the name of an inbound');
const servicePort = z.object({
  port: port(),
  name: sectionName().describe('The section name; the port as text if not set.').optional(),
  targetPort: z
    .union([z.int().min(1, targetPort).max(65_535, targetPort), z.string().regex(SECTION_NAME, targetPort)], targetPort)
    .describe('Port or name of an inbound; the same port if not set.')
    .optional(),
  appProtocol: appProtocol(),
});

export const meshServiceSpec = withRules(
  z.object({
    state: choice('Available', 'Unavailable').default('Unavailable'),
    selector: selector.optional(),
    ports: z.array(servicePort).optional(),
    identities: z.array(z.object({ type: choice('SpiffeID', 'ServiceTag'), value: text() })).optional(),
    zoneIngress: z.object({ address: address(), port: port(), sni: text('the SNI of the first port') }).optional(),
  }),
  (spec, path, findings) => {
    const given = spec['selector'];
    if (typeof given !== 'object' || given === null || SELECTORS.every((key) => !Object.hasOwn(given, key)))
      findings.warning(child(path, 'selector'), `selects no Dataplane: set one of ${SELECTORS.join(', ')}`);
  },
);
