// What a view takes of a change that an equal view took before it.
import { expect, it } from 'vitest';
import { EqualSteps } from './equal-steps.ts';
import type { ProxyView, ViewState, ViewStep } from './proxy-view.ts';

const map = (): never => ({}) as never;
const stateOf = (): ViewState => ({ outbounds: map(), destinations: map() });
const stepOf = (): ViewStep => ({ ...stateOf(), changed: new Map(), hasNewProblems: false });

/** A view in a state; it counts how often the state is asked for. */
function viewIn(state: ViewState | null): { view: ProxyView; asked: () => number } {
  let asked = 0;
  const view = {
    get state() {
      asked += 1;
      return state;
    },
    isIn: (other: ViewState) => other.outbounds === state?.outbounds && other.destinations === state.destinations,
  };
  return { view: view as unknown as ProxyView, asked: () => asked };
}

it('a view takes the step of the view in its state with its key, and of no other', () => {
  const steps = new EqualSteps();
  const [one, other] = [stateOf(), stateOf()];
  const [ofA, ofB, ofOther] = [stepOf(), stepOf(), stepOf()];
  expect(steps.of(viewIn(one).view, 'a')).toBeUndefined();
  steps.set(one, 'a', ofA);
  steps.set(one, 'b', ofB);
  steps.set(other, 'a', ofOther);
  const mixed = { outbounds: one.outbounds, destinations: other.destinations };
  steps.set(mixed, 'b', ofOther);
  for (let round = 0; round < 2; round += 1) {
    expect(steps.of(viewIn(one).view, 'a')).toBe(ofA);
    expect(steps.of(viewIn(one).view, 'b')).toBe(ofB);
    expect(steps.of(viewIn(other).view, 'a')).toBe(ofOther);
    expect(steps.of(viewIn(other).view, 'b')).toBeUndefined();
    expect(steps.of(viewIn(mixed).view, 'a')).toBeUndefined();
    expect(steps.of(viewIn(mixed).view, 'b')).toBe(ofOther);
    expect(steps.of(viewIn(null).view, 'a')).toBeUndefined();
  }
});

it('a view that takes the same step as the last one is not looked up', () => {
  const steps = new EqualSteps();
  const [state, step] = [stateOf(), stepOf()];
  steps.set(state, 'a', step);
  steps.of(viewIn(state).view, 'a');
  const { view, asked } = viewIn(state);
  expect([steps.of(view, 'a'), asked()]).toEqual([step, 0]);
});
