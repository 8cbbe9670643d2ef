// What a session makes of a response that the proxy refuses.
import { describe, expect, it } from 'vitest';
import { request, sessionOf } from './session.fixture.ts';

describe('a refused response', () => {
  it('does not hold what it refused', () => {
    const { session } = sessionOf({ Listener: { l: '1', m: '1' } });
    session.receive(request('Listener'));
    const [response] = session.take();
    session.receive(request('Listener', { nonce: response?.nonce ?? '', error: 'l: bad' }));
    expect([session.holds('Listener', 'l'), session.holds('Listener', 'm')]).toEqual([false, false]);
    const [again] = session.take();
    expect(again?.resources.map(({ name }) => name)).toEqual(['m']);
    session.receive(request('Listener', { nonce: again?.nonce ?? '' }));
    expect([session.holds('Listener', 'l'), session.holds('Listener', 'm')]).toEqual([false, true]);
  });

  it('names the refused resource, and sends it again when its content changes', () => {
    const { session, replace } = sessionOf({ Listener: { one: '1', two: '1' } });
    session.receive(request('Listener'));
    const [response] = session.take();
    const { size } = session;
    const answer = session.receive(
      request('Listener', { nonce: response?.nonce ?? '', error: 'Error adding listener(s) two: in use' }),
    );
    expect(answer?.refusals).toMatchObject([{ type: 'Listener', name: 'two', version: '1' }]);
    const [again] = session.take();
    expect(again).toMatchObject({ resources: [{ name: 'one' }], removed: [] });
    session.receive(request('Listener', { nonce: again?.nonce ?? '' }));
    expect(session.take()).toEqual([]);
    replace({ Listener: { one: '1', two: '2' } });
    const [changed] = session.take();
    expect(changed).toMatchObject({ resources: [{ name: 'two' }], removed: [] });
    expect(session.refusals).toEqual([]);
    session.receive(request('Listener', { nonce: changed?.nonce ?? '' }));
    expect(session.size).toBe(size);
  });

  it('does not count a resource as refused whose name is a part of the name that a refusal has', () => {
    const { session } = sessionOf({ Cluster: { port_80: '1', port_8080: '1', other_port_80: '1' } });
    session.receive(request('Cluster'));
    const [first] = session.take();
    const error = 'Error adding/updating cluster(s) port_8080: bad, other_port_80: bad';
    const answer = session.receive(request('Cluster', { nonce: first?.nonce ?? '', error }));
    expect(answer?.refusals?.map(({ name }) => name)).toEqual(['port_8080', 'other_port_80']);
    const [again] = session.take();
    expect(again?.resources.map(({ name }) => name)).toEqual(['port_80']);
    session.receive(request('Cluster', { nonce: again?.nonce ?? '' }));
    expect(session.holds('Cluster', 'port_80')).toBe(true);
  });

  it('asks about each resource of a refusal that names nothing, and lists a refused one while it is in the view', () => {
    const { session, replace } = sessionOf({ Listener: { one: '1', two: '1' } });
    session.receive(request('Listener'));
    const refuseNext = (): unknown => {
      const [response] = session.take();
      return session.receive(request('Listener', { nonce: response?.nonce ?? '', error: 'bad' }))?.refusals;
    };
    const refusalOf = (name: string): object => ({ type: 'Listener', name, version: '1', reason: 'bad' });
    expect(refuseNext()).toEqual([]);
    expect(refuseNext()).toEqual([refusalOf('one')]);
    expect(refuseNext()).toEqual([refusalOf('two')]);
    expect([session.take(), session.refusals]).toEqual([[], ['one', 'two'].map(refusalOf)]);
    replace({ Listener: { one: '1' } });
    expect(session.refusals.map(({ name }) => name)).toEqual(['one']);
    const [removal] = session.take();
    session.receive(request('Listener', { nonce: removal?.nonce ?? '' }));
    replace({ Listener: { one: '1', two: '1' } });
    expect(session.refusals.map(({ name }) => name)).toEqual(['one']);
  });
});
