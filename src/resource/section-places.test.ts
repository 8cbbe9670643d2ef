// The places where clients reach the sections of a Dataplane that moves.
import { describe, expect, it } from 'vitest';
import { movesOf, openedIn, reachOf, sectionPlaces, withOpened, type SectionPlace } from './section-places.ts';
import type { JsonObject } from './types.ts';

const at = (port: number): { address: string; port: number } => ({ address: '10.0.0.1', port });
const section = (name: string, port: number): SectionPlace => ({ section: name, bound: at(port), reach: at(port) });
const inbound = (...ports: readonly (readonly [name: string, port: number])[]): JsonObject => ({
  networking: { address: '10.0.0.1', inbound: ports.map(([name, port]) => ({ name, port })) },
});
const reaches = (spec: JsonObject, status: JsonObject): unknown[] =>
  sectionPlaces({ spec }).map((wanted) => reachOf(wanted, openedIn(status))?.port ?? null);

it('each section has a name that stays when it moves, and the address for others', () => {
  const networking = {
    ...{ address: '10.0.0.1', advertisedAddress: '1.1.1.1' },
    inbound: [{ name: 'a', port: 1 }, { port: 2 }, { name: 'a', port: 3, address: '10.0.0.2' }],
    zoneIngress: { port: 4, advertisedAddress: '2.2.2.2', advertisedPort: 5 },
    zoneEgress: { address: '10.0.0.3', port: 6 },
  };
  expect(sectionPlaces({ spec: { networking } })).toEqual([
    { section: 'inbound a', bound: at(1), reach: { address: '1.1.1.1', port: 1 } },
    { section: 'inbound 2', bound: at(2), reach: { address: '1.1.1.1', port: 2 } },
    { section: 'inbound a 2', bound: { address: '10.0.0.2', port: 3 }, reach: { address: '10.0.0.2', port: 3 } },
    { section: 'zoneIngress', bound: at(4), reach: { address: '2.2.2.2', port: 5 } },
    { section: 'zoneEgress', bound: { address: '10.0.0.3', port: 6 }, reach: { address: '10.0.0.3', port: 6 } },
  ]);
});

describe('clients reach a section', () => {
  it('where its Dataplane says, while no Envoy has said anything', () => {
    expect(reaches(inbound(['main', 1]), {})).toEqual([1]);
  });

  it('where it was open last until the place of its Dataplane is open, there and back', () => {
    let status = withOpened({ spec: inbound(['main', 1]) }, [section('inbound main', 1)]);
    expect(reaches(inbound(['main', 2]), status)).toEqual([1]);
    status = withOpened({ spec: inbound(['main', 2]), status }, [section('inbound main', 2)]);
    expect(reaches(inbound(['main', 2]), status)).toEqual([2]);
    expect(reaches(inbound(['main', 1]), status)).toEqual([2]);
  });

  it('nowhere before a section that is new on a running Envoy is open', () => {
    const status = withOpened({ spec: inbound(['main', 1]) }, [section('inbound main', 1)]);
    expect(reaches(inbound(['main', 1], ['new', 2]), status)).toEqual([1, null]);
  });

  it('at its place under another name', () => {
    const status = withOpened({ spec: inbound(['main', 1]) }, [section('inbound main', 1)]);
    expect(reaches(inbound(['other', 1]), status)).toEqual([1]);
  });
});

describe('a status', () => {
  const opened = withOpened({ spec: inbound(['main', 1]), status: { brought: {} } }, [section('inbound main', 1)]);

  it('keeps what else is in it, and the last two places of a section', () => {
    expect(opened).toEqual({ brought: {}, opened: [section('inbound main', 1)] });
    let status = opened;
    for (const port of [2, 3]) status = withOpened({ spec: inbound(['main', port]), status }, [section('inbound main', port)]);
    expect(openedIn(status)).toEqual([section('inbound main', 3), section('inbound main', 2)]);
  });

  it('changes nothing for proxies when an Envoy opens what its Dataplane says', () => {
    const spec = inbound(['main', 1]);
    expect(movesOf({ spec, status: opened })).toEqual(movesOf({ spec, status: {} }));
    const moved = { spec: inbound(['main', 2]), status: opened };
    expect(movesOf(moved)).not.toEqual(movesOf({ ...moved, status: withOpened(moved, [section('inbound main', 2)]) }));
  });
});
