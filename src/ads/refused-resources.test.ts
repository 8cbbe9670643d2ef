// What one proxy refuses, from its answers.
import { beforeEach, describe, expect, it } from 'vitest';
import { RefusedResources } from './refused-resources.ts';
import { request, sessionOf } from './session.fixture.ts';
import type { XdsResource, XdsResponse, XdsView } from './session-messages.ts';

let refused: RefusedResources;

beforeEach(() => {
  refused = new RefusedResources();
});

const resource = (name: string, version = '1'): XdsResource => ({ name, version, bytes: new Uint8Array() });

/** The names that an answer refuses; null without a refusal. */
function answer(resources: XdsResource[], reason: string | null, removed: string[] = []): string[] | null {
  const response: XdsResponse = { type: 'Listener', nonce: '1', resources, removed };
  return refused.answered(response, reason)?.map(({ name }) => name) ?? null;
}

/** The names that are refused while the view has these versions. */
function standing(versions: Record<string, string>): string[] {
  const view: XdsView = {
    get: (type, name) => (type === 'Listener' && name in versions ? resource(name, versions[name]) : undefined),
    names: () => Object.keys(versions),
  };
  return refused.standing(view).map(({ name }) => name);
}

describe('the answer to a response', () => {
  it.each<[reason: string, names: string[]]>([
    ['b: bad port', ['b']],
    ['c: bad, a: bad', ['a', 'c']],
    ['Error adding/updating listener(s) b: in use\nc: in use\n', ['b', 'c']],
    ['b: unknown cluster a in its route', ['b']],
    ['no name', []],
    ['', []],
    ['goo.gle/debugonly name: "a"\nroute: "b"\n: Proto constraint validation failed (a field)', []],
  ])('«%s» refuses %j for certain', (reason, expected) => {
    expect(
      answer(
        ['a', 'b', 'c'].map((name) => resource(name)),
        reason,
      ),
    ).toEqual(expected);
  });

  it('refuses the only resource, whatever it names', () => {
    for (const reason of ['a: bad', 'no name', 'b: bad', '']) expect(answer([resource('a')], reason)).toEqual(['a']);
    expect(answer([], 'bad', ['a'])).toEqual([]);
  });

  it('refuses no name that occurs within a longer one alone', () => {
    const ports = ['port_80', 'port_8080', 'other_port_80'].map((name) => resource(name));
    expect(answer(ports, 'port_8080: bad')).toEqual(['port_8080']);
    expect(answer(ports, 'other_port_80: bad, port_8080: bad')).toEqual(['port_8080', 'other_port_80']);
    expect(answer(ports, 'other_port_80: bad, port_80: bad, other_port_80: bad')).toEqual(['port_80', 'other_port_80']);
  });

  it('that was cut refuses what it names before the cut', () => {
    const ports = ['port_80', 'port_8080', 'port_9'].map((name) => resource(name));
    expect(answer(ports, 'port_9: bad\nport_80...(truncated)')).toEqual(['port_9']);
    expect(answer(ports, 'port_9...(truncated)')).toEqual([]);
  });

  it('that accepts says nothing, and takes back what was refused of these names alone', () => {
    expect(answer([resource('a')], null)).toBeNull();
    answer([resource('a'), resource('b'), resource('c')], 'a: no, b: no, c: no');
    expect(refused.size).toBe(3);
    expect(answer([resource('a', '2')], null)).toBeNull();
    expect([refused.size, refused.has('Listener', 'a', '1')]).toEqual([2, false]);
    expect(answer([], null, ['b'])).toBeNull();
    expect([refused.has('Listener', 'b', '1'), refused.has('Listener', 'c', '1')]).toEqual([false, true]);
  });
});

it('a resource is refused at one version, and of one type', () => {
  answer([resource('a')], 'bad');
  expect([
    refused.has('Listener', 'a', '1'),
    refused.has('Listener', 'a', '2'),
    refused.has('Cluster', 'a', '1'),
    refused.has('Listener', 'b', '1'),
  ]).toEqual([true, false, false, false]);
  answer([resource('a', '2')], 'bad again');
  expect([refused.has('Listener', 'a', '1'), refused.has('Listener', 'a', '2'), refused.size]).toEqual([false, true, 1]);
});

it('a refusal stands while the view has the refused version', () => {
  expect(standing({ a: '1' })).toEqual([]);
  answer([resource('a'), resource('b')], 'a: bad, b: bad');
  expect([standing({ a: '1', b: '1' }), standing({ a: '2', b: '1' }), standing({})]).toEqual([['a', 'b'], ['b'], []]);
});

describe('a session after a refusal that was cut', () => {
  const CUT = 'Error adding/updating listener(s) one: in use\ntwo: in use\nthr...(truncated)';
  const all = { one: '1', two: '1', three: '1', thr: '1' };

  /** Four listeners were sent, and the text names two of them. */
  function refused(): Omit<ReturnType<typeof sessionOf>, 'kept'> & { held: () => string[] } {
    const { session, replace } = sessionOf({ Listener: all });
    session.receive(request('Listener'));
    const [response] = session.take();
    const answer = session.receive(request('Listener', { nonce: response?.nonce ?? '', error: CUT }));
    expect(answer?.refusals?.map(({ name }) => name)).toEqual(['one', 'two']);
    return { session, replace, held: () => Object.keys(all).filter((name) => session.holds('Listener', name)) };
  }

  it('holds none of the resources that it does not name, and sends them again without the refused ones', () => {
    const { session, held } = refused();
    expect(held()).toEqual([]);
    const [again] = session.take();
    expect(again).toMatchObject({ resources: [{ name: 'three' }, { name: 'thr' }], removed: [] });
    expect(held()).toEqual([]);
    session.receive(request('Listener', { nonce: again?.nonce ?? '', error: 'three: in use' }));
    expect(held()).toEqual([]);
    const [last] = session.take();
    expect(last).toMatchObject({ resources: [{ name: 'thr' }], removed: [] });
    session.receive(request('Listener', { nonce: last?.nonce ?? '' }));
    expect([held(), session.take()]).toEqual([['thr'], []]);
    expect(session.refusals.map(({ name }) => name)).toEqual(['one', 'two', 'three']);
  });

  it('removes what it does not name when that is gone', () => {
    const { session, replace } = refused();
    replace({ Listener: { one: '1', two: '1', three: '1' } });
    const [again] = session.take();
    expect(again).toMatchObject({ resources: [{ name: 'three' }], removed: [] });
    session.receive(request('Listener', { nonce: again?.nonce ?? '' }));
    expect(session.take()).toMatchObject([{ resources: [], removed: ['thr'] }]);
  });

  it('sends nothing again that the proxy does not ask for any more', () => {
    const { session } = sessionOf({ Secret: all });
    session.receive(request('Secret', { subscribe: Object.keys(all) }));
    const [response] = session.take();
    const unsubscribe = ['three', 'thr'];
    session.receive(request('Secret', { nonce: response?.nonce ?? '', error: CUT, unsubscribe }));
    expect(session.take()).toEqual([]);
  });
});
