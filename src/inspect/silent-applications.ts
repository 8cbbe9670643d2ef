// The applications that do not answer the probes of their Envoys, in words (decision 58). Pure. A zone says so in the inbounds of the Dataplane,
// which global has too. Those of Kubernetes are not ready because of their pods.
import { label } from '../resource/labels.ts';
import { numberOf, objectOf, objectsOf, textOf } from '../resource/read-json.ts';
import type { JsonObject, Resource } from '../resource/types.ts';
import { applicationAddress } from '../xds/application-address.ts';
import { isMadeUnready } from '../xds/service-probe.ts';

/** @property field of the Dataplane @property inbound the index of the inbound @property reason with what to do */
type SilentApplication = { readonly inbound: number; readonly field: string; readonly reason: string };

/** The silent applications, in the order of the inbounds. */
export function silentApplications({ labels, spec }: Pick<Resource, 'labels' | 'spec'>): SilentApplication[] {
  if (labels[label.env] === 'kubernetes') return [];
  const networking = objectOf(spec['networking']);
  return objectsOf(networking['inbound']).flatMap((inbound, at) =>
    isMadeUnready(inbound)
      ? [{ inbound: at, field: `networking.inbound[${String(at)}]`, reason: reasonOf(networking, inbound) }]
      : [],
  );
}

function reasonOf(networking: JsonObject, inbound: JsonObject): string {
  const { address, port } = applicationAddress(networking, inbound);
  const name = textOf(inbound['name']) || String(numberOf(inbound['port']));
  const place = `${address.includes(':') ? `[${address}]` : address}:${String(port)}`;
  const isSet = textOf(inbound['serviceAddress']) !== '';
  const other = isSet ? 'correct serviceAddress and servicePort' : 'set serviceAddress to the address on which it listens';
  return `the application of inbound ${name} does not answer on ${place}: start it, or ${other}`;
}
