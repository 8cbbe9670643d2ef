// The Dataplanes that proxies bring: they are checked and stored as a PUT would, and held for as long as the proxy is connected.
import { isDeepStrictEqual } from 'node:util';
import type { ProxyConnectionFacts } from '../ads/proxy-events.ts';
import type { Dataplanes, GivenDataplane } from '../ads/proxy-server.ts';
import { parseJsonBody } from '../http/json-body.ts';
import { draftOf, refuseAll, type Draft, type WriteRules } from '../writes/write-checks.ts';
import { planWrite } from '../writes/write-plan.ts';
import { MeridianError } from '../base/errors.ts';
import { broughtStatus } from '../resource/brought-parts.ts';
import { typeOf } from '../resource/type-registry.ts';
import type { Resource } from '../resource/types.ts';
import type { ResourceStore, Write } from '../store/resource-store.ts';
import { keepHealth } from '../xds/service-probe.ts';
import type { DataplaneInsightWriter } from './dataplane-insight-writer.ts';

type RegisteredDataplanesOptions = {
  readonly store: Pick<ResourceStore, 'get' | 'getMeta'>;
  readonly insights: Pick<DataplaneInsightWriter, 'hold' | 'release'>;
  readonly rules: WriteRules;
  /** Whether a Dataplane that a proxy brings again stays as unhealthy as it was reported. */
  readonly keepsHealth: boolean;
  /** Aborts when this control plane stops: streams end then, and proxies stay. */
  readonly signal: AbortSignal;
};

export class RegisteredDataplanes implements Dataplanes {
  readonly #options: RegisteredDataplanesOptions;

  constructor(options: RegisteredDataplanesOptions) {
    this.#options = options;
  }

  readonly read = (text: string, at: { readonly mesh: string; readonly name: string }): GivenDataplane => {
    const { rules } = this.#options;
    const { key, labels, spec, nameFaults } = draftOf(typeOf('Dataplane'), at, parseJsonBody(text), rules, { strict: false });
    refuseAll(nameFaults);
    return { mesh: key.mesh, name: key.name, labels, spec };
  };

  readonly stored = async (mesh: string, name: string): Promise<GivenDataplane | null> =>
    (await this.#options.store.get({ type: 'Dataplane', mesh, name })) ?? null;

  readonly register = async (dataplane: GivenDataplane, facts: ProxyConnectionFacts): Promise<void> => {
    const { store, insights } = this.#options;
    const { mesh } = dataplane;
    if ((await store.getMeta({ type: 'Mesh', mesh: '', name: mesh })) === undefined)
      throw new MeridianError('bad_request', `mesh ${JSON.stringify(mesh)} does not exist; create it first`);
    await insights.hold(facts, (stored) => this.#plan(dataplane, stored));
  };

  readonly release = (facts: ProxyConnectionFacts): void => {
    const { insights, signal } = this.#options;
    insights.release(facts, signal.aborted ? 'held' : 'released');
  };

  #plan({ mesh, name, labels, spec: given }: GivenDataplane, stored: Resource | undefined): Write | null {
    const { keepsHealth, rules } = this.#options;
    const spec = keepsHealth && stored !== undefined ? keepHealth(given, stored.spec) : given;
    const status = broughtStatus({ labels, spec }, stored ?? null);
    const same = [
      [stored?.spec, spec],
      [stored?.labels, labels],
      [stored?.status, status],
    ];
    if (same.every(([before, after]) => isDeepStrictEqual(before, after))) return null;
    const key = { type: 'Dataplane', mesh, name };
    const draft: Draft = {
      info: typeOf('Dataplane'),
      key,
      given: labels,
      labels,
      spec,
      owner: null,
      warnings: [],
      nameFaults: [],
    };
    return { ...planWrite(draft, stored, rules), status };
  }
}
