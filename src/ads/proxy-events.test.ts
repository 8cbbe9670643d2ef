// What is counted of a stream, and who counts it.
import { expect, it } from 'vitest';
import { countAll, countByEvents, type ProxyConnectionFacts, type ProxyEvent } from './proxy-events.ts';

const facts: ProxyConnectionFacts = {
  ...{ streamId: '1', mesh: 'default', name: 'web.east', run: 'r', isZoneProxy: false, namespace: '', version: {}, metadata: {} },
};

it('each count is an event of its stream', () => {
  const events: ProxyEvent[] = [];
  const counter = countByEvents((event) => void events.push(event))(facts);
  counter.sent('Cluster');
  counter.accepted('Listener');
  expect(events).toEqual([
    { ...facts, kind: 'sent', type: 'Cluster' },
    { ...facts, kind: 'accepted', type: 'Listener', standing: [] },
  ]);
});

it('several counters count each response and each answer', () => {
  const counted: string[] = [];
  const counting =
    (who: string) =>
    ({ name }: ProxyConnectionFacts) => ({
      sent: (type: string) => void counted.push(`${who} ${name} sent ${type}`),
      accepted: (type: string) => void counted.push(`${who} ${name} accepted ${type}`),
    });
  const counter = countAll(counting('one'), counting('two'))(facts);
  counter.sent('Cluster');
  counter.accepted('Listener');
  expect(counted).toEqual([
    ...['one web.east sent Cluster', 'two web.east sent Cluster'],
    ...['one web.east accepted Listener', 'two web.east accepted Listener'],
  ]);
});
