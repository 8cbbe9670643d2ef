// The inbounds whose applications nothing probes, in words (decision 58). Pure. Those of HTTP have a probe without a written one, those
// of Kubernetes the probes of their pods.
import { label } from '../resource/labels.ts';
import { isObject, numberOf, objectOf, objectsOf, textOf } from '../resource/read-json.ts';
import type { Resource } from '../resource/types.ts';
import { isSwitchedOff } from '../xds/default-probe.ts';
import { isHttp, protocolOf } from '../envoy/protocol.ts';

type Dataplane = Pick<Resource, 'labels' | 'spec'>;

/** The remedy for inbounds without a probe. */
export const PROBE_REMEDY = 'write serviceProbe, or the label probe.meridian.io/NAME: disabled where none is wanted';

/**
 * The names of these inbounds, or ports where they have none. An inbound whose probe a person has switched off does not count.
 */
export function unprobedInbounds(dataplane: Dataplane): string[] {
  if (dataplane.labels[label.env] === 'kubernetes') return [];
  return objectsOf(objectOf(dataplane.spec['networking'])['inbound']).flatMap((inbound) => {
    const isProbed = isObject(inbound['serviceProbe']) || isHttp(protocolOf(textOf(inbound['protocol'])));
    if (isProbed || inbound['state'] === 'Ignored' || isSwitchedOff(dataplane, inbound)) return [];
    return [textOf(inbound['name']) || String(numberOf(inbound['port']))];
  });
}

/** A sentence about one Dataplane; null where each application is probed. */
export function unprobedWarning(dataplane: Dataplane): string | null {
  const names = unprobedInbounds(dataplane);
  if (names.length === 0) return null;
  const [noun, of] = names.length === 1 ? ['inbound', 'its application'] : ['inbounds', 'their applications'];
  return (
    `the health of ${noun} ${names.join(', ')} of tcp is unknown: nothing probes ${of}, so a dead one still gets requests; ` +
    PROBE_REMEDY
  );
}
