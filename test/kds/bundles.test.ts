// Bundles on the wire: who gets them, and what a hostile one does.
import { status } from '@grpc/grpc-js';
import { describe, expect, it, vi } from 'vitest';
import { feature } from '../../src/kds/protocol/features.ts';
import { zoneConsumes } from '../../src/kds/protocol/rules.ts';
import { syncService } from '../../src/kds/protocol/services.ts';
import { decodeBundle, encodeBundle, isBundle } from '../../src/wire/bundle.ts';
import { decodeDeltaRequest, decodeDeltaResponse, encodeDeltaRequest, encodeDeltaResponse } from '../../src/wire/kds-messages.ts';
import { fc } from '../support/property.ts';
import { firstRequest } from './first-request.ts';
import { mutated, requestBytes } from './mutated-frames.ts';
import { ending, open, serverUnderAttack, type Call } from './server-under-attack.ts';

const WAIT = { timeout: 60_000, interval: 10 };
const READS_BUNDLES = [feature.hashSuffix, feature.meridian, feature.bundles];

describe('a global', () => {
  const server = serverUnderAttack();

  /** What comes on the stream, message by message of gRPC. */
  function heard(call: Call): Buffer[] {
    const messages: Buffer[] = [];
    call.on('data', (bytes: Buffer) => messages.push(bytes));
    return messages;
  }

  const openDown = (lines: readonly string[]): Call =>
    open(server.dial(), syncService.globalToZoneSync, 'east', undefined, lines);
  const subscriptions = (): Buffer[] => zoneConsumes.map(({ name }) => encodeDeltaRequest(firstRequest(name)));
  const partsOf = (messages: readonly Buffer[]): Uint8Array[] =>
    messages.flatMap((bytes) => (isBundle(bytes) ? decodeBundle(bytes) : [bytes]));

  it('answers a bundle of subscriptions with few messages, and with the same content as single ones', async () => {
    const contents: unknown[] = [];
    for (const [lines, messages] of [
      [READS_BUNDLES, [encodeBundle(subscriptions())]],
      [[feature.hashSuffix, feature.meridian], subscriptions()],
    ] as const) {
      const call = openDown(lines);
      const answers = heard(call);
      for (const message of messages) call.write(message);
      await vi.waitFor(() => expect(partsOf(answers)).toHaveLength(zoneConsumes.length), WAIT);
      expect(answers.some(isBundle)).toBe(lines === READS_BUNDLES);
      contents.push(
        partsOf(answers)
          .map((part) => decodeDeltaResponse(part))
          .toSorted((a, b) => a.typeUrl.localeCompare(b.typeUrl)),
      );
      call.cancel();
      await ending(call);
    }
    expect(contents[0]).toEqual(contents[1]);
  });

  it('asks a zone that reads bundles for all types in one message, and takes a bundle of answers', async () => {
    const call = open(server.dial(), syncService.zoneToGlobalSync, 'east', undefined, READS_BUNDLES);
    const asked = heard(call);
    await vi.waitFor(() => expect(asked).toHaveLength(1), WAIT);
    const types = partsOf(asked).map((part) => decodeDeltaRequest(part).typeUrl);
    const answers = types.map((typeUrl) =>
      encodeDeltaResponse({ typeUrl, nonce: `of ${typeUrl}`, controlPlane: 'east', entries: [], removed: [] }),
    );
    call.write(encodeBundle(answers));
    await vi.waitFor(() => expect(partsOf(asked)).toHaveLength(2 * types.length), WAIT);
    const nonces = partsOf(asked)
      .slice(types.length)
      .map((part) => decodeDeltaRequest(part).responseNonce);
    expect(nonces).toEqual(types.map((type) => `of ${type}`));
    call.cancel();
  });

  it.each([
    ['more than 128 messages', encodeBundle(Array.from({ length: 129 }, () => encodeDeltaRequest(firstRequest('Mesh'))))],
    ['more than 64 KiB', encodeBundle([Buffer.alloc(70_000)])],
    ['a bundle', encodeBundle([encodeBundle([encodeDeltaRequest(firstRequest('Mesh'))])])],
  ])('ends the stream of a peer that sends a bundle with %s, or answers nothing of it', async (_, bytes) => {
    const call = openDown(READS_BUNDLES);
    const answers = heard(call);
    call.write(bytes);
    call.end();
    expect(status[(await ending(call)).code]).toMatch(/^(INTERNAL|INVALID_ARGUMENT|OK)$/);
    expect(
      partsOf(answers)
        .map((part) => decodeDeltaResponse(part).resources)
        .flat(),
    ).toEqual([]);
  });

  it('survives mutated bundles', async () => {
    const bundle = encodeBundle(requestBytes);
    let zones = 0;
    const client = server.dial();
    await fc.assert(
      fc.asyncProperty(mutated([bundle]), async (message) => {
        const call = open(client, syncService.globalToZoneSync, `zone-${String((zones += 1))}`, undefined, READS_BUNDLES);
        call.write(message);
        call.end();
        expect(status[(await ending(call)).code]).not.toBe('DEADLINE_EXCEEDED');
      }),
      { numRuns: 60 },
    );
  });
});
