// A range of TLS versions, as MeshTLS and MeshExternalService have it.
import { z } from 'zod';
import { choice } from './spec-fields.ts';
import { withRules } from './spec-rules.ts';
import { child } from '../resource/spec-path.ts';

const VERSIONS = ['TLSAuto', 'TLS10', 'TLS11', 'TLS12', 'TLS13'] as const;

/** `{min, max}`; TLSAuto leaves the choice to the proxy. */
export const tlsVersion = () =>
  withRules(
    z.object({
      min: choice(...VERSIONS)
        .describe('Lowest version that is spoken. TLSAuto leaves it to the proxy.')
        .default('TLSAuto'),
      max: choice(...VERSIONS)
        .describe('Highest version that is spoken. TLSAuto leaves it to the proxy.')
        .default('TLSAuto'),
    }),
    (value, path, findings) => {
      const [min = 0, max = 0] = [value['min'], value['max']].map((version) => VERSIONS.findIndex((known) => known === version));
      if (min > 0 && max > 0 && min > max) findings.violation(child(path, 'min'), 'must not be higher than max');
    },
  );
