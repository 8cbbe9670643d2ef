// A repeated fault of a peer is logged once, with the reason: a peer cannot fill the log of global.
import { Metadata, type Client } from '@grpc/grpc-js';
import { describe, expect, it, vi } from 'vitest';
import { globalService, syncService } from '../../src/kds/protocol/services.ts';
import {
  decodeDeltaRequest,
  decodeDeltaResponse,
  encodeDeltaRequest,
  encodeDeltaResponse,
  encodeResourceEntry,
} from '../../src/wire/kds-messages.ts';
import { firstRequest } from './first-request.ts';
import { ending, open, serverUnderAttack, streams, sync, type Call } from './server-under-attack.ts';

type Line = { readonly zone?: string; readonly stream?: string; readonly msg: string; readonly reason?: string };

const MIB = 1024 * 1024;
const MANY = 50;
/** As many on each of six ways, twice: fewer than the calls that a server refuses to one address before it slows them down. */
const MANY_REFUSED = 8;
const unlimited = { 'grpc.max_send_message_length': -1 };
const badType = { typeUrl: 'NoSuchType', nonce: '1', controlPlane: '', entries: [], removed: [] };

describe('a server with hostile peers', () => {
  const server = serverUnderAttack();

  /** The lines of its log at level info about a zone; undefined: about peers without a name. */
  const linesAbout = (zone: string | undefined): Line[] =>
    server.logged.map((line) => JSON.parse(line) as Line).filter((line) => line.zone === zone);
  const linesWith = (zone: string | undefined, msg: string): Line[] => linesAbout(zone).filter((line) => line.msg === msg);

  /** Ends so many streams on each of the methods, one after the other. */
  async function endMany(methods: typeof streams, zone: string | undefined, times: number): Promise<void> {
    const client = server.dial();
    for (const [, method] of methods) for (let n = 0; n < times; n += 1) await ending(open(client, method, zone));
  }

  async function healthCheck(client: Client, zone: string): Promise<void> {
    const { path, requestSerialize, responseDeserialize } = globalService.healthCheck;
    const metadata = new Metadata();
    if (zone !== '') metadata.set('client-id', zone);
    await new Promise<void>((resolve) => {
      client.makeUnaryRequest(path, requestSerialize, responseDeserialize, Buffer.alloc(0), metadata, () => resolve());
    });
  }

  it.each([
    ['no-message', 'is none', sync, (): Buffer => Buffer.alloc(1_000, 0x0b), /^cannot read a Delta/],
    ['too-large', 'is too large', sync, (): Buffer => Buffer.alloc(11 * MIB), /./],
    [
      'no-type',
      'is of no type',
      [['zoneToGlobalSync', syncService.zoneToGlobalSync]] as typeof sync,
      (): Buffer => encodeDeltaResponse(badType),
      /^invalid resource type/,
    ],
  ])('logs once per stream why it ends the streams of %s, whose message %s', async (zone, _, methods, message, reason) => {
    const client = server.dial(unlimited);
    for (const [, method] of methods) {
      const call = open(client, method, zone);
      call.write(message());
      await ending(call);
    }
    await vi.waitFor(() => expect(linesWith(zone, 'stream closed')).toHaveLength(methods.length));
    const inTurn = methods.flatMap(() => ['stream closed', 'stream opened']);
    expect(
      linesAbout(zone)
        .map(({ msg }) => msg)
        .toSorted(),
    ).toEqual(inTurn.toSorted());
    for (const line of linesWith(zone, 'stream closed')) expect(line.reason).toMatch(reason);
  });

  it.each([
    ['without a name', undefined, '', 'not present'],
    ['of a name that no zone can have', 'EAST', 'EAST', 'cannot be the name of a zone'],
  ])('logs once that it refuses the streams and health checks of a peer %s', async (_, zone, id, reason) => {
    await endMany(streams, zone, MANY_REFUSED);
    const client = server.dial();
    for (let n = 0; n < MANY_REFUSED; n += 1) await healthCheck(client, id);
    const ways = ['clusters', 'configDump', 'globalToZone', 'healthCheck', 'stats', 'zoneToGlobal'];
    await vi.waitFor(() =>
      expect(
        linesAbout(zone)
          .map(({ stream = '' }) => stream)
          .toSorted(),
      ).toEqual(ways),
    );
    for (const line of linesAbout(zone)) expect(line.reason).toContain(reason);
  });

  it('logs only a few of many peers with new names', async () => {
    const before = server.logged.length;
    const client = server.dial();
    const names = Array.from({ length: 500 }, (_, n) => `NO-ZONE-${String(n)}${'x'.repeat(2_000)}`);
    await Promise.all(names.map(async (name) => ending(open(client, syncService.globalToZoneSync, name))));
    const lines = server.logged.slice(before);
    expect(lines.length).toBeLessThanOrEqual(100);
    for (const line of lines) expect(line.length).toBeLessThan(2_000);
  });

  it('logs once a zone that repeatedly sends resources that cannot be stored', async () => {
    const call = open(server.dial(), syncService.zoneToGlobalSync, 'unstorable');
    const entries = [encodeResourceEntry({ name: 'bad.default', version: '', kumaResource: Buffer.from([0xff]) })];
    for (let n = 1; n <= MANY; n += 1) {
      const answered = answerTo(call, String(n));
      call.write(encodeDeltaResponse({ typeUrl: 'MeshTimeout', nonce: String(n), controlPlane: '', entries, removed: [] }));
      await answered;
    }
    expect(linesWith('unstorable', 'refused resources of the peer')).toHaveLength(1);
    call.cancel();
  });

  it('logs once, and briefly, a zone that repeatedly refuses resources', async () => {
    const call = open(server.dial(), syncService.globalToZoneSync, 'refusing');
    const request = firstRequest('MeshTimeout', { node: 'refusing' });
    const errorDetail = { code: 0, message: 'no '.repeat(MIB), details: [] };
    for (let n = 1; n <= MANY; n += 1) {
      const sent = new Promise<Buffer>((resolve) => call.once('data', resolve));
      call.write(encodeDeltaRequest(request));
      const { nonce } = decodeDeltaResponse(await sent);
      call.write(encodeDeltaRequest({ ...request, responseNonce: nonce, errorDetail }));
    }
    await vi.waitFor(() => expect(linesWith('refusing', 'the peer refused resources')).toHaveLength(1));
    call.end();
    await vi.waitFor(() => expect(linesWith('refusing', 'stream closed')).toHaveLength(1));
    expect(linesAbout('refusing')).toHaveLength(3);
    expect(JSON.stringify(linesAbout('refusing')).length).toBeLessThan(5_000);
  });
});

/** Settles with the answer of global to the response of that nonce. */
async function answerTo(call: Call, nonce: string): Promise<void> {
  await new Promise<void>((resolve) => {
    const take = (bytes: Buffer): void => {
      if (decodeDeltaRequest(bytes).responseNonce !== nonce) return;
      call.off('data', take);
      resolve();
    };
    call.on('data', take);
  });
}
