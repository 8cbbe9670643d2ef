// A Dataplane whose connections the machine redirects by the settings. Pure.
import { MeridianError } from '../base/errors.ts';
import type { RedirectSettings } from './settings.ts';

type Fields = Readonly<Record<string, unknown>>;

const FAMILY_MODES = { dualstack: 'DualStack', ipv4: 'IPv4' } as const;

/**
 * The Dataplane with the ports and families of the settings in `networking.transparentProxying`.
 * @param dataplane in Universal form
 * @throws MeridianError `config` for a field of the Dataplane that says otherwise
 */
export function redirectedDataplane<T extends Fields>(dataplane: T, settings: RedirectSettings): T {
  const networking = fieldsOf(dataplane['networking']);
  const written = fieldsOf(networking['transparentProxying']);
  const { inbound, outbound } = settings.redirect;
  const wanted: Fields = {
    ...(inbound.enabled && { redirectPortInbound: inbound.port }),
    ...(outbound.enabled && { redirectPortOutbound: outbound.port }),
    ipFamilyMode: FAMILY_MODES[settings.ipFamilyMode],
  };
  for (const field of ['redirectPortInbound', 'redirectPortOutbound', 'ipFamilyMode'])
    if (isSet(written[field]) && written[field] !== wanted[field])
      throw new MeridianError(
        'config',
        `networking.transparentProxying.${field}: the Dataplane says ${String(written[field])}, and the settings of the transparent proxy ${String(wanted[field] ?? 'that nothing is redirected')}: leave it out of the Dataplane`,
      );
  return { ...dataplane, networking: { ...networking, transparentProxying: { ...written, ...wanted } } };
}

/** Values that mean the same as a field that is left out. */
function isSet(value: unknown): boolean {
  return value !== undefined && value !== 0 && value !== 'UnSpecified';
}

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}
