// Types in step on the wire: a zone that says so honestly, and what false or broken ones do.
import { status } from '@grpc/grpc-js';
import { describe, expect, it, vi } from 'vitest';
import { feature } from '../../src/kds/protocol/features.ts';
import { zoneConsumes } from '../../src/kds/protocol/rules.ts';
import { syncService } from '../../src/kds/protocol/services.ts';
import { decodeBundle, encodeBundle, isBundle } from '../../src/wire/bundle.ts';
import { decodeInStep, encodeInStep, isInStep } from '../../src/wire/in-step.ts';
import { decodeDeltaRequest, decodeDeltaResponse, encodeDeltaRequest, encodeDeltaResponse } from '../../src/wire/kds-messages.ts';
import { encodeStruct } from '../../src/wire/struct.ts';
import { fc } from '../support/property.ts';
import { firstRequest } from './first-request.ts';
import { mutated } from './mutated-frames.ts';
import { ending, open, serverUnderAttack, type Call } from './server-under-attack.ts';

const WAIT = { timeout: 60_000, interval: 10 };
const READS_IN_STEP = [feature.hashSuffix, feature.meridian, feature.bundles, feature.inStep];

describe('a global', () => {
  const server = serverUnderAttack();

  /** The single messages that come on the stream. */
  function heard(call: Call): Uint8Array[] {
    const messages: Uint8Array[] = [];
    call.on('data', (bytes: Buffer) => messages.push(...(isBundle(bytes) ? decodeBundle(bytes) : [bytes])));
    return messages;
  }

  it('names the types of which a zone has everything, and waits for no answer', async () => {
    const call = open(server.dial(), syncService.globalToZoneSync, 'east', undefined, READS_IN_STEP);
    const answers = heard(call);
    const metadata = encodeStruct({ features: [feature.hashSuffix, feature.meridian], 'meridian-resume': true });
    const requests = zoneConsumes.map(({ name }, index) =>
      encodeDeltaRequest({ ...firstRequest(name), node: { id: 'east', ...(index === 0 && { metadata }) } }),
    );
    call.write(encodeBundle(requests));
    const named = (): string[] =>
      answers.flatMap((bytes) => (isInStep(bytes) ? decodeInStep(bytes) : [decodeDeltaResponse(bytes).typeUrl]));
    await vi.waitFor(() => expect(named().toSorted()).toEqual(zoneConsumes.map(({ name }) => name).toSorted()), WAIT);
    expect(answers.filter(isInStep)).toHaveLength(1);
    for (const bytes of answers.filter((one) => !isInStep(one))) expect(decodeDeltaResponse(bytes).resources).not.toEqual([]);
    call.cancel();
    await ending(call);
  });

  it('asks a zone for nothing again that says what is in step, and takes its next response', async () => {
    const call = open(server.dial(), syncService.zoneToGlobalSync, 'east', undefined, READS_IN_STEP);
    const asked = heard(call);
    await vi.waitFor(() => expect(asked.length).toBeGreaterThan(5), WAIT);
    const requests = asked.map((bytes) => decodeDeltaRequest(bytes));
    expect(requests.filter(({ node }) => node.metadata !== undefined)).toHaveLength(1);
    call.write(encodeInStep(requests.map(({ typeUrl }) => typeUrl)));
    const response = { typeUrl: 'MeshTimeout', nonce: 'next', controlPlane: 'east', entries: [], removed: ['gone.default'] };
    call.write(encodeDeltaResponse(response));
    await vi.waitFor(() => expect(asked).toHaveLength(requests.length + 1), WAIT);
    expect(decodeDeltaRequest(asked.at(-1) ?? new Uint8Array())).toMatchObject({ responseNonce: 'next', errorDetail: null });
    call.cancel();
    await ending(call);
  });

  it.each([
    ['of a type that it did not ask for', READS_IN_STEP, encodeInStep(['no type'])],
    ['many times', READS_IN_STEP, encodeInStep(Array.from({ length: 100 }, () => 'MeshTimeout'))],
    ['of a type that it asked for in full', [feature.hashSuffix], encodeInStep(['MeshTimeout'])],
  ])('ends the stream of a zone that says it is in step %s', async (_, lines, bytes) => {
    const call = open(server.dial(), syncService.zoneToGlobalSync, 'east', undefined, lines);
    call.write(bytes);
    expect(status[(await ending(call)).code]).toBe('INVALID_ARGUMENT');
  });

  it('survives mutated types in step', async () => {
    const client = server.dial();
    let zones = 0;
    await fc.assert(
      fc.asyncProperty(mutated([encodeInStep(['Mesh', 'MeshTimeout', 'Dataplane'])]), async (message) => {
        const call = open(client, syncService.zoneToGlobalSync, `zone-${String((zones += 1))}`, undefined, READS_IN_STEP);
        call.write(message);
        call.end();
        expect(status[(await ending(call)).code]).not.toBe('DEADLINE_EXCEEDED');
      }),
      { numRuns: 60 },
    );
  });
});
