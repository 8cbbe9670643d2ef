// Shares the result of one change among views that were equal before it: the first view computes the step, the others take it.
import type { ProxyView, ViewState, ViewStep } from './proxy-view.ts';

export class EqualSteps {
  /** By the maps of the view before the change, and by the key of its proxy. */
  readonly #steps = new Map<ViewState['outbounds'], Map<ViewState['destinations'], Map<string, ViewStep>>>();

  /** The one that was taken last: most views take the same. */
  #last: { readonly state: ViewState; readonly key: string; readonly step: ViewStep } | null = null;

  /** The step of a view that was equal to this one; undefined: there is none yet. @param key of its proxy */
  of(view: ProxyView, key: string): ViewStep | undefined {
    const last = this.#last;
    if (last !== null && last.key === key && view.isIn(last.state)) return last.step;
    const { state } = view;
    const step = state === null ? undefined : this.#get(state, key);
    if (state !== null && step !== undefined) this.#last = { state, key, step };
    return step;
  }

  #get({ outbounds, destinations }: ViewState, key: string): ViewStep | undefined {
    return this.#steps.get(outbounds)?.get(destinations)?.get(key);
  }

  set({ outbounds, destinations }: ViewState, key: string, step: ViewStep): void {
    const ofOutbounds = this.#steps.get(outbounds) ?? new Map<ViewState['destinations'], Map<string, ViewStep>>();
    const ofBoth = ofOutbounds.get(destinations) ?? new Map<string, ViewStep>();
    this.#steps.set(outbounds, ofOutbounds.set(destinations, ofBoth.set(key, step)));
  }
}
