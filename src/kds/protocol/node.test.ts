// Node metadata: the own, and that of an untrusted peer.
import { fc } from '../../../test/support/property.ts';
import { describe, expect, it } from 'vitest';
import type { Json, JsonObject } from '../../resource/types.ts';
import { decodeStruct, encodeStruct } from '../../wire/struct.ts';
import { nodeFeatures } from './features.ts';
import { nodeMetadata, readNodeMetadata } from './node.ts';
import type { PeerNode } from './sync-events.ts';

const OWN = { version: '1.2.3', instanceId: 'host-1', config: '{"store":{"type":"postgres"}}' };
const NO_VERSION = { version: '', gitTag: '', gitCommit: '', buildDate: '' };
const EMPTY: PeerNode = { version: NO_VERSION, config: '', instanceId: '', features: [] };

function peerNodeOf(metadata: JsonObject): PeerNode {
  return readNodeMetadata(encodeStruct(metadata)).node;
}

describe('node metadata', () => {
  it('has the keys that Kuma reads (kds-wire 2.2)', () => {
    expect(decodeStruct(nodeMetadata(OWN, false))).toEqual({
      version: { kumaCp: { version: '1.2.3' } },
      config: OWN.config,
      'control-plane-id': 'host-1',
      features: nodeFeatures,
    });
    expect(nodeFeatures).toEqual(
      expect.arrayContaining([
        'zone-token',
        'hash-suffix',
        'hg-mz-selector',
        'producer-policy-flow',
        'optional-top-level-target-ref',
      ]),
    );
  });

  it('announces versions only in a request that has them (D29)', () => {
    expect(decodeStruct(nodeMetadata(OWN, true))).toMatchObject({ 'meridian-resume': true });
    expect(decodeStruct(nodeMetadata(OWN, false))).not.toHaveProperty('meridian-resume');
  });

  it('is read back as it was written', () => {
    const node = {
      version: { ...NO_VERSION, version: '1.2.3' },
      config: OWN.config,
      instanceId: 'host-1',
      features: nodeFeatures,
    };
    expect(readNodeMetadata(nodeMetadata(OWN, true))).toEqual({ node, resumes: true });
    expect(readNodeMetadata(nodeMetadata(OWN, false))).toEqual({ node, resumes: false });
  });

  it('has each field read as empty that is too large to keep for each stream', () => {
    const long = 'x'.repeat(120_000);
    const kumaCp = { version: long, gitTag: long, gitCommit: long, buildDate: long };
    const features = [...Array.from({ length: 10_000 }, String), long];
    const read = peerNodeOf({ version: { kumaCp }, config: long, 'control-plane-id': long, features });
    expect(JSON.stringify(read).length).toBeLessThan(10_000);
    expect(read).toMatchObject({ ...EMPTY, features: expect.any(Array) as string[] });
  });

  it('of a Kuma peer is read completely', () => {
    const kumaCp = { version: '3.0.0', gitTag: 'v3.0.0', gitCommit: 'abc', buildDate: '2026-01-01' };
    const metadata = { version: { kumaCp }, config: '{}', 'control-plane-id': 'kuma-1', features: ['zone-token'] };
    expect(peerNodeOf(metadata)).toEqual({ version: kumaCp, config: '{}', instanceId: 'kuma-1', features: ['zone-token'] });
  });

  it.each<[string, JsonObject]>([
    ['nothing', {}],
    ['nulls', { version: null, config: null, 'control-plane-id': null, features: null }],
    ['numbers', { version: 3, config: 1, 'control-plane-id': 2, features: 4 }],
    ['lists', { version: [{ kumaCp: {} }], config: ['{}'], 'control-plane-id': ['x'], features: [] }],
    ['texts where objects belong', { version: '3.0.0', features: 'hash-suffix' }],
    ['objects where texts belong', { version: { kumaCp: { version: {} } }, config: {}, 'control-plane-id': {}, features: {} }],
    ['a list for a version', { version: { kumaCp: ['3.0.0'] } }],
    ['features of other types', { features: [1, null, {}, ['hash-suffix'], true] }],
  ])('of a peer that sends %s reads as empty', (_, metadata) => {
    expect(peerNodeOf(metadata)).toEqual(EMPTY);
  });

  it('resumes only with the boolean true', () => {
    const said = ['true', 1, null, {}].map((value) => readNodeMetadata(encodeStruct({ 'meridian-resume': value })).resumes);
    expect(said).toEqual([false, false, false, false]);
  });

  it('of more than 1 MiB is not read', () => {
    const read = (bytes: number): PeerNode => peerNodeOf({ config: 'x'.repeat(bytes) });
    expect(read(1024 * 1024 - 100)).toEqual(EMPTY);
    expect(() => read(1024 * 1024)).toThrow('node.metadata: 1048596 bytes, at most 1048576');
  });

  it('that is not a Struct gives an error that names it', () => {
    expect(() => readNodeMetadata(Buffer.from([0xff]))).toThrow('cannot read the metadata of a node');
  });

  it('keeps only the features that are strings', () => {
    expect(peerNodeOf({ features: [1, 'hash-suffix', null, 'x'] }).features).toEqual(['hash-suffix', 'x']);
  });

  it('never throws and always has its shape', () => {
    const { json } = fc.letrec<{ json: Json }>((tie) => ({
      json: fc.oneof(
        { depthSize: 'small' },
        fc.string(),
        fc.integer(),
        fc.boolean(),
        fc.constant(null),
        fc.array(tie('json'), { maxLength: 3 }),
        fc.dictionary(fc.constantFrom('kumaCp', 'version', 'gitTag', '__proto__', 'x'), tie('json'), { maxKeys: 3 }),
      ),
    }));
    const keys = fc.constantFrom('version', 'config', 'control-plane-id', 'features', '__proto__', 'constructor');
    fc.assert(
      fc.property(fc.dictionary(keys, json), (metadata) => {
        const { version, config, instanceId, features } = peerNodeOf(metadata);
        expect([...Object.values(version), config, instanceId, ...features].every((value) => typeof value === 'string')).toBe(
          true,
        );
        expect(Object.keys(version).sort()).toEqual(Object.keys(NO_VERSION).sort());
      }),
    );
  });
});
