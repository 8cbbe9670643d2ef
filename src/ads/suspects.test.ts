// What a session sends again after a refusal, and what it holds meanwhile.
import { describe, expect, it } from 'vitest';
import { fc } from '../../test/support/property.ts';
import { request, sessionOf, type Contents } from './session.fixture.ts';
import type { XdsResponse, XdsType } from './session-messages.ts';
import type { XdsSession } from './session.ts';

/** Names of one type, at this version. */
function versions(names: readonly string[], version = '1'): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, version]));
}

function namesOf(response: XdsResponse | undefined): string[] {
  return response?.resources.map(({ name }) => name) ?? [];
}

/** The next response, with an answer to it. @param error null accepts it */
function answerNext(session: XdsSession, error: string | null, type: XdsType = 'Cluster'): string[] {
  const [response] = session.take();
  session.receive(request(type, { nonce: response?.nonce ?? '', error }));
  return namesOf(response);
}

/** A session of a proxy that has asked for these clusters. */
function asking(names: readonly string[]): Omit<ReturnType<typeof sessionOf>, 'kept'> & { held: () => string[] } {
  const { session, replace } = sessionOf({ Cluster: versions(names) });
  session.receive(request('Cluster'));
  return { session, replace, held: () => names.filter((name) => session.holds('Cluster', name)) };
}

describe('a session whose response is refused', () => {
  it('that names nothing sends it in halves until the bad resource is alone, and holds the others', () => {
    const { session, held } = asking(['a', 'b', 'bad', 'd', 'e']);
    const sent: string[][] = [];
    for (let [response] = session.take(); response !== undefined; [response] = session.take()) {
      sent.push(namesOf(response));
      const error = sent.at(-1)?.includes('bad') === true ? 'name: "a": Proto constraint validation failed' : null;
      session.receive(request('Cluster', { nonce: response.nonce, error }));
    }
    expect(sent).toEqual([['a', 'b', 'bad', 'd', 'e'], ['a', 'b', 'bad'], ['d', 'e'], ['a', 'b'], ['bad']]);
    expect(held()).toEqual(['a', 'b', 'd', 'e']);
    expect(session.refusals.map(({ name }) => name)).toEqual(['bad']);
  });

  it('that names one sends the others at once, and in halves if that is refused too', () => {
    const { session, held } = asking(['a', 'b', 'c', 'd', 'e']);
    const sent = ['a: bad', 'no', null, 'd: bad', null].map((error) => answerNext(session, error));
    expect(sent).toEqual([['a', 'b', 'c', 'd', 'e'], ['b', 'c', 'd', 'e'], ['b', 'c'], ['d', 'e'], ['e']]);
    expect([held(), session.take()]).toEqual([['b', 'c', 'e'], []]);
    expect(session.refusals.map(({ name }) => name)).toEqual(['a', 'd']);
  });

  it('sends a changed resource on its own, not with the suspected ones, and in turns with them', () => {
    const { session, replace, held } = asking(['a', 'b', 'c', 'd']);
    answerNext(session, 'no');
    replace({ Cluster: { ...versions(['a', 'b', 'c', 'd']), d: '2' } });
    expect(answerNext(session, 'no')).toEqual(['a', 'b']);
    expect(answerNext(session, null)).toEqual(['d']);
    replace({ Cluster: { ...versions(['a', 'b', 'c', 'd']), d: '3' } });
    expect([answerNext(session, null), answerNext(session, null)]).toEqual([['c'], ['d']]);
    expect(held()).toEqual(['c', 'd']);
    expect([answerNext(session, null), answerNext(session, 'no')]).toEqual([['a'], ['b']]);
    expect([held(), session.take(), session.size]).toEqual([['a', 'c', 'd'], [], 1]);
  });

  it('sends a resource again that changed while its response was refused, also when it changed back', () => {
    const { session, replace, held } = asking(['a', 'b']);
    const [response] = session.take();
    replace({ Cluster: { a: '2', b: '1' } });
    replace({ Cluster: { a: '1', b: '1' } });
    session.receive(request('Cluster', { nonce: response?.nonce ?? '', error: 'no' }));
    expect(held()).toEqual([]);
    expect([answerNext(session, null), answerNext(session, null)].flat().toSorted()).toEqual(['a', 'b']);
    expect([held(), session.take()]).toEqual([['a', 'b'], []]);
  });

  it('sends a suspected resource again that changed and changed back', () => {
    const { session, replace, held } = asking(['a', 'b']);
    answerNext(session, 'no');
    replace({ Cluster: { a: '2', b: '1' } });
    replace({ Cluster: { a: '1', b: '1' } });
    expect(held()).toEqual([]);
    expect([answerNext(session, null), answerNext(session, null)]).toEqual([['b'], ['a']]);
    expect([held(), session.take()]).toEqual([['a', 'b'], []]);
  });

  it('sends a suspected resource once that the proxy asks for by name', () => {
    const { session, held } = asking(['a', 'b']);
    answerNext(session, 'no');
    session.receive(request('Cluster', { subscribe: ['a'] }));
    expect([answerNext(session, null), answerNext(session, null)]).toEqual([['b'], ['a']]);
    expect([held(), session.take()]).toEqual([['a', 'b'], []]);
  });

  it('sends a suspected assignment behind its changed cluster, and never its former version after that', () => {
    const names = ['a', 'b'];
    const { session, replace } = sessionOf({ Cluster: versions(names), ClusterLoadAssignment: versions(names) });
    session.receive(request('Cluster'));
    session.receive(request('ClusterLoadAssignment', { subscribe: names }));
    const [clusters, assignments] = session.take();
    session.receive(request('Cluster', { nonce: clusters?.nonce ?? '' }));
    session.receive(request('ClusterLoadAssignment', { nonce: assignments?.nonce ?? '', error: 'no' }));
    const [first] = session.take();
    replace({ Cluster: { a: '1', b: '2' }, ClusterLoadAssignment: versions(names) });
    const [changed] = session.take();
    replace({ Cluster: { a: '1', b: '2' }, ClusterLoadAssignment: { a: '1', b: '2' } });
    session.receive(request('Cluster', { nonce: changed?.nonce ?? '' }));
    session.receive(request('ClusterLoadAssignment', { nonce: first?.nonce ?? '' }));
    const sent: string[] = [];
    for (let [response] = session.take(); response !== undefined; [response] = session.take()) {
      sent.push(...response.resources.map(({ name, version }) => `${name} ${version}`));
      session.receive(request(response.type, { nonce: response.nonce }));
    }
    expect(sent).toEqual(['b 2']);
  });

  it('removes a suspected resource that is gone', () => {
    const { session, replace } = asking(['a', 'b']);
    answerNext(session, 'no');
    replace({ Cluster: { b: '1' } });
    expect(answerNext(session, null)).toEqual(['b']);
    expect(session.take()).toMatchObject([{ resources: [], removed: ['a'] }]);
  });

  it('sends the current version of a resource that was suspected in two versions', () => {
    const { session, replace } = asking(['a', 'b', 'c', 'd']);
    answerNext(session, 'no');
    replace({ Cluster: { ...versions(['a', 'b']), ...versions(['c', 'd'], '2') } });
    expect([answerNext(session, null), answerNext(session, 'no')]).toEqual([
      ['a', 'b'],
      ['c', 'd'],
    ]);
    const sent = [session.take()[0]];
    session.receive(request('Cluster', { nonce: sent[0]?.nonce ?? '' }));
    sent.push(session.take()[0]);
    expect(sent.flatMap((response) => response?.resources ?? [])).toMatchObject([
      { name: 'c', version: '2' },
      { name: 'd', version: '2' },
    ]);
  });

  it('answers a missing name again, because Envoy has dropped that answer too', () => {
    const { session } = sessionOf({ Secret: { a: '1' } });
    session.receive(request('Secret', { subscribe: ['a', 'missing'] }));
    const [response] = session.take();
    session.receive(request('Secret', { nonce: response?.nonce ?? '', error: 'no' }));
    const [again] = session.take();
    expect(again).toMatchObject({ resources: [], removed: ['missing'] });
    session.receive(request('Secret', { nonce: again?.nonce ?? '', error: 'no' }));
    expect(session.take()).toEqual([]);
  });

  it('keeps nothing suspected that the proxy does not ask for any more', () => {
    const { session } = asking(['a', 'b']);
    answerNext(session, 'no');
    session.receive(request('Cluster', { unsubscribe: ['*'] }));
    expect([session.size, session.take()]).toEqual([0, []]);
    session.receive(request('Cluster', { subscribe: ['b'] }));
    expect([answerNext(session, null), session.take()]).toEqual([['b'], []]);
  });

  it('sends listeners after the clusters of which some are refused', () => {
    const { session } = sessionOf({ Cluster: versions(['a', 'b', 'c']), Listener: { l: '1' } });
    for (const type of ['Cluster', 'Listener'] as const) session.receive(request(type));
    expect([answerNext(session, 'no'), answerNext(session, 'no'), answerNext(session, null)]).toHaveLength(3);
    expect([answerNext(session, null), answerNext(session, 'no')]).toEqual([['a'], ['b']]);
    expect(session.take()).toMatchObject([{ type: 'Listener', resources: [{ name: 'l' }] }]);
  });

  const names = Array.from({ length: 40 }, (_, at) => `cluster-${String(at)}`);
  const bad = fc.uniqueArray(fc.nat(names.length - 1), { maxLength: names.length });
  /** How Envoy words it: not at all, with the first one, or with all. */
  const words = fc.constantFrom('none', 'first', 'all');

  it('holds the accepted ones and refuses the bad ones, each sent some log2(n) times, however refusals are worded', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: names.length }), bad, words, (count, at, wording) => {
        const all = names.slice(0, count);
        const isBad = new Set(at.map((index) => names[index]));
        const { session, held } = asking(all);
        const times = new Map<string, number>();
        for (let [response] = session.take(); response !== undefined; [response] = session.take()) {
          for (const name of namesOf(response)) times.set(name, (times.get(name) ?? 0) + 1);
          const found = namesOf(response).filter((name) => isBad.has(name));
          const named = wording === 'none' ? [] : wording === 'first' ? found.slice(0, 1) : found;
          const error = found.length === 0 ? null : `Error: ${named.map((name) => `${name}: bad`).join(', ')}`;
          session.receive(request('Cluster', { nonce: response.nonce, error }));
        }
        expect(held()).toEqual(all.filter((name) => !isBad.has(name)));
        expect(session.refusals.map(({ name }) => name).toSorted()).toEqual(all.filter((name) => isBad.has(name)).toSorted());
        expect(Math.max(...times.values())).toBeLessThanOrEqual(Math.ceil(Math.log2(count)) + 2);
      }),
    );
  });

  const pairs = fc.constantFrom('a', 'b', 'c', 'd', 'e');
  const contents = fc
    .dictionary(pairs, fc.constantFrom('1', '2', 'bad'), { maxKeys: 5 })
    .map((Cluster): Contents => ({ Cluster }));

  it('ends with its view but for what is refused, after any changes meanwhile', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(contents, fc.nat(4)), { minLength: 1, maxLength: 10 }), (steps) => {
        const { session, replace } = sessionOf({});
        session.receive(request('Cluster'));
        const has = new Map<string, string>();
        const answer = (): boolean => {
          const [response] = session.take();
          if (response === undefined) return false;
          const isRefused = response.resources.some(({ version }) => version === 'bad');
          for (const { name, version } of isRefused ? [] : response.resources) has.set(name, version);
          for (const name of isRefused ? [] : response.removed) has.delete(name);
          session.receive(request('Cluster', { nonce: response.nonce, error: isRefused ? 'no' : null }));
          return true;
        };
        for (const [view, answers] of steps) {
          replace(view);
          for (let count = 0; count < answers; count += 1) answer();
        }
        for (let count = 0; answer(); count += 1) expect(count).toBeLessThan(100);
        const view = Object.entries({ ...steps.at(-1)?.[0].Cluster });
        for (const [name, version] of view) {
          expect(session.holds('Cluster', name)).toBe(version !== 'bad');
          if (version !== 'bad') expect(has.get(name)).toBe(version);
        }
        expect([...has.keys()].filter((name) => !view.some(([known]) => known === name))).toEqual([]);
      }),
    );
  });
});
