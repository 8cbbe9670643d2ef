// How other zones reach a zone, and how its proxies reach what is outside: addresses of ingresses, and zone proxies.
import type { JSX } from 'preact';
import type { Answer } from '../../../src/answers/answers.ts';
import { useLive } from '../live.ts';
import { linkTo } from '../router.ts';
import { get } from '../session.ts';
import { Failure } from './failure.tsx';
import { StateMark } from './state-mark.tsx';
import { proxyState } from '../proxies.ts';
import { placeOf } from '../catalog.ts';

type Address = {
  readonly mesh: string;
  readonly name: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly spec: { readonly address?: string; readonly port?: number };
};
type Overview = Answer<'DataplaneOverview'>;
type Reach = { readonly addresses: readonly Address[]; readonly proxies: readonly Overview[] };

/** With `ingress` or `egress` at its end: the label of a proxy that is one. */
const LISTENER = 'kuma.io/listener-zone';

export function ZoneReach({ zone }: { readonly zone: string }): JSX.Element {
  const { data, failure } = useLive(`reach ${zone}`, ['zones', 'changes', 'clock'], (signal) => loadReach(zone, signal));
  return (
    <section class="card" aria-label="Ingress and egress">
      <div class="bar">
        <h2>Ingress and egress</h2>
      </div>
      <Failure of={failure} />
      {data !== undefined && data.addresses.length + data.proxies.length === 0 && <p class="none">This zone has none</p>}
      {data !== undefined && (
        <ul class="problems">
          {data.addresses.map(({ mesh, name, labels = {}, spec }) => (
            <li key={`${mesh}/${name}`}>
              <div class="title">
                <a href={linkTo(placeOf('meshzoneaddresses', mesh, name))}>{labels['kuma.io/display-name'] ?? name}</a>
              </div>
              <p>
                mesh {mesh}: other zones connect to {spec.address}:{spec.port}
              </p>
            </li>
          ))}
          {data.proxies.map((proxy) => (
            <li key={`${proxy.mesh ?? ''}/${proxy.name}`}>
              <div class="title">
                <a href={linkTo(['proxies', proxy.mesh ?? '', proxy.name])}>
                  {proxy.labels?.['kuma.io/display-name'] ?? proxy.name}
                </a>
                <StateMark {...proxyState(proxy)} />
              </div>
              <p>
                mesh {proxy.mesh}: {dutiesOf(proxy)}
              </p>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

async function loadReach(zone: string, signal: AbortSignal): Promise<Reach> {
  const inZone = `size=1000&filter[labels.kuma.io/zone]=${encodeURIComponent(zone)}`;
  const withListener = (kind: string): Promise<{ items: Overview[] }> =>
    get(`/dataplanes/_overview?${inZone}&filter[labels.${LISTENER}${kind}]=enabled`, signal);
  const [addresses, ingresses, egresses] = await Promise.all([
    get<{ items: Address[] }>(`/meshzoneaddresses?${inZone}`, signal),
    withListener('ingress'),
    withListener('egress'),
  ]);
  const proxies = new Map([...ingresses.items, ...egresses.items].map((proxy) => [proxy.kri ?? proxy.name, proxy]));
  return { addresses: addresses.items, proxies: [...proxies.values()] };
}

/** `ingress and egress` */
function dutiesOf({ labels = {} }: Overview): string {
  return ['ingress', 'egress'].filter((kind) => labels[LISTENER + kind] === 'enabled').join(' and ');
}
