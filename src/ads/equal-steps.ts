// One change, as views that were equal before it take it: what the first of them gets by it, the others get too.
import type { ViewState, ViewStep } from './proxy-view.ts';

export class EqualSteps {
  /** By the maps of the view before the change, and by the key of its proxy. */
  readonly #steps = new Map<ViewState['outbounds'], Map<ViewState['destinations'], Map<string, ViewStep>>>();

  get({ outbounds, destinations }: ViewState, key: string): ViewStep | undefined {
    return this.#steps.get(outbounds)?.get(destinations)?.get(key);
  }

  set({ outbounds, destinations }: ViewState, key: string, step: ViewStep): void {
    const ofOutbounds = this.#steps.get(outbounds) ?? new Map<ViewState['destinations'], Map<string, ViewStep>>();
    const ofBoth = ofOutbounds.get(destinations) ?? new Map<string, ViewStep>();
    this.#steps.set(outbounds, ofOutbounds.set(destinations, ofBoth.set(key, step)));
  }
}
