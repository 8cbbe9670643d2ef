// The TLS mode of each service of a mesh: only certificates of the mesh, also plain text, or only plain text (xds 6). Pure. The
// acceptances of proxies decide, not the written policies. Invariant: a service is strict only if all its proxies are.
import { compareText } from '../base/compare-text.ts';
import type { Answer } from '../answers/answers.ts';
import { catchAllConf } from '../policy/inbound-rules.ts';
import { buildRules } from '../policy/build-rules.ts';
import type { DataplaneProxy } from '../policy/dataplane-proxy.ts';
import type { MeshIndex } from '../policy/mesh-index.ts';
import { demandsTls } from '../policy/demanded-tls.ts';
import { selectedDataplanes } from '../policy/services.ts';
import { displayNameOf } from '../resource/labels.ts';
import { zoneNamed } from '../resource/ownership.ts';
import { objectOf, textOf } from '../resource/read-json.ts';
import type { Resource } from '../resource/types.ts';

type MeshTls = Omit<Answer<'MeshTls'>, 'withdrawals' | 'total' | 'next'>;
type PlaintextService = MeshTls['items'][number];
type TlsState = { readonly tls: 'strict' } | Pick<PlaintextService, 'tls' | 'reason'>;

/** The author of such a resource expects more than plain text. */
const EXPECTING = ['MeshIdentity', 'MeshTLS', 'MeshTrafficPermission'];
/** The number of names in a reason. */
const MAX_NAMES = 3;

/**
 * The state of the MeshServices that have proxies; `items` are those that take plain text or may do so, by name.
 * @param insights DataplaneInsights of the mesh
 * @param whyUnknown why nothing is known of the proxy of a Dataplane here; `''` if its insight says all, or it has never connected
 */
export function meshTlsView(
  index: MeshIndex,
  insights: readonly Resource[],
  whyUnknown: (dataplane: Resource) => string = () => '',
): MeshTls {
  const facts = new TlsFacts(index, insights, whyUnknown);
  const states = [...index.resources('MeshService')].flatMap((service) => {
    const state = stateOf(index, service, selectedDataplanes(index, service), facts);
    return state === null ? [] : [{ service, state }];
  });
  const items = states.flatMap(({ service, state }) => (state.tls === 'strict' ? [] : [{ ...headOf(index, service), ...state }]));
  const count = (tls: PlaintextService['tls']): number => items.filter((one) => one.tls === tls).length;
  const [permissive, plaintext, unknown] = [count('permissive'), count('plaintext'), count('unknown')];
  return {
    mesh: index.mesh,
    expectedBy: EXPECTING.filter((type) => index.count(type) > 0),
    services: {
      total: states.length,
      strict: states.length - items.length,
      permissive,
      plaintext,
      ...(unknown > 0 && { unknown }),
    },
    items: items.sort((a, b) => compareText(a.service.name, b.service.name) || compareText(a.kri, b.kri)),
  };
}

function headOf(index: MeshIndex, service: Resource): Omit<PlaintextService, 'tls' | 'reason'> {
  const { type, mesh, name, labels } = service;
  const meta = { type, mesh, name: displayNameOf(service), labels };
  return { service: meta, storedName: name, kri: index.kriOf(service), zone: zoneNamed(labels) ?? '' };
}

/** The facts that proxies have reported. */
class TlsFacts {
  /** Stored names of proxies whose inbounds take certificates of the mesh. */
  readonly certified: ReadonlySet<string>;
  /** Names of proxies by the KRI of a MeshService that they call in plain text. */
  readonly #plaintext = new Map<string, string[]>();
  readonly whyUnknown: (dataplane: Resource) => string;

  constructor(index: MeshIndex, insights: readonly Resource[], whyUnknown: (dataplane: Resource) => string) {
    this.whyUnknown = whyUnknown;
    this.certified = new Set(
      insights.flatMap(({ name, spec }) => (textOf(objectOf(spec['mTLS'])['issuedBackend']) ? [name] : [])),
    );
    for (const { name, status } of insights) {
      const proxy = index.proxy(name);
      const { plaintextTo } = objectOf(status['tls']);
      if (proxy === undefined || !Array.isArray(plaintextTo)) continue;
      for (const kri of plaintextTo.map(textOf)) this.#plaintext.set(kri, [...this.callersOf(kri), proxy.displayName]);
    }
  }

  /** Proxies that call a service in plain text. Only their own zone knows them. */
  callersOf(kri: string): readonly string[] {
    return this.#plaintext.get(kri) ?? [];
  }
}

/** Returns null for a service without a proxy. */
function stateOf(index: MeshIndex, service: Resource, selected: readonly DataplaneProxy[], facts: TlsFacts): TlsState | null {
  const proxies = selected.filter(({ sections }) => sections.some(({ kind }) => kind === 'Inbound'));
  if (proxies.length === 0) return null;
  const whys = new Map(proxies.map((proxy) => [proxy, facts.whyUnknown(proxy.resource)]));
  const without = proxies.filter((proxy) => !facts.certified.has(proxy.resource.name) && whys.get(proxy) === '');
  if (without.length > 0) {
    const tls = without.length === proxies.length ? 'plaintext' : 'permissive';
    return { tls, reason: `without a certificate of the mesh: ${namesIn(without.map(({ displayName }) => displayName))}` };
  }
  const chosen = proxies.filter((proxy) => isPermissive(index, proxy));
  if (chosen.length > 0)
    return {
      tls: 'permissive',
      reason: `MeshTLS has mode Permissive on ${namesIn(chosen.map(({ displayName }) => displayName))}`,
    };
  const reason = [...whys.values()].find((why) => why !== '');
  if (reason !== undefined) return { tls: 'unknown', reason };
  const { status, enforced } = objectOf(service.status['tls']);
  if (enforced === true || proxies.every((proxy) => demandsTls(index, proxy))) return { tls: 'strict' };
  const callers = facts.callersOf(index.kriOf(service));
  if (callers.length > 0) return { tls: 'permissive', reason: `called in plain text by ${namesIn(callers)}` };
  return {
    tls: 'permissive',
    reason: status === 'Ready' ? 'not all proxies of the mesh have said how they call it' : 'its status has no TLS yet',
  };
}

/** Whether a policy lets an inbound of a proxy take plain text. */
function isPermissive(index: MeshIndex, proxy: DataplaneProxy): boolean {
  const ofType = buildRules(index, proxy).types.find(({ type }) => type === 'MeshTLS');
  return (ofType?.inboundRules ?? []).some(
    ({ section, rules }) => section.kind === 'Inbound' && catchAllConf(rules)['mode'] === 'Permissive',
  );
}

function namesIn(names: readonly string[]): string {
  const shown = names.slice(0, MAX_NAMES).join(', ');
  return names.length > MAX_NAMES ? `${shown} and ${String(names.length - MAX_NAMES)} more` : shown;
}
