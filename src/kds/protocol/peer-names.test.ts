// Valid names of control planes are accepted. A name with special characters of a terminal, a path or a log is refused.
import { describe, expect, it } from 'vitest';
import { fc } from '../../../test/support/property.ts';
import { hashName } from '../../resource/hash-name.ts';
import { typeOf } from '../../resource/type-registry.ts';
import type { Labels } from '../../resource/types.ts';
import { peerNameViolations } from './peer-names.ts';

const timeout = typeOf('MeshTimeout');
const generator = typeOf('HostnameGenerator');
const fieldsAtFault = (name: string, mesh = 'default', labels: Labels = {}): string[] =>
  peerNameViolations(timeout, { name, mesh, labels }).map(({ field }) => field);

const INVISIBLE = ['\0', '\u0001', '\t', '\n', '\r', '\u001b', '\u007f', '\u0085', '\u009b', '\u00ad', '\u200b', '\u200f'].concat(
  ['\u2028', '\u2029', '\u202e', '\u2066', '\u3164', '\ufeff', '\ud800', '\u{e0001}'],
);
const anywhere = (parts: readonly string[]): fc.Arbitrary<string> =>
  fc
    .tuple(fc.stringMatching(/^[a-z]{0,5}$/), fc.constantFrom(...parts), fc.stringMatching(/^[a-z]{0,5}$/))
    .map((all) => all.join(''));

describe('a name from a peer', () => {
  it.each(['a', 'a.b', 'a..b', 'a.', 'my_mesh', 'Cart', '0', '-a', 'имя', 'é', 'e\u0301', 'a'.repeat(253)])(
    'may be %j',
    (name) => {
      expect(fieldsAtFault(name)).toEqual([]);
    },
  );

  it.each(['', ' ', '.', '..', '.a', '../../x', 'a/b', 'a\\b', 'a b', '"a"', '%', '$1; --', 'a'.repeat(254)])(
    'may not be %j',
    (name) => {
      expect(fieldsAtFault(name)).toEqual(['name']);
    },
  );

  it('may be every name that REST accepts, and its hash', () => {
    const subdomain = fc.stringMatching(/^[a-z0-9]([a-z0-9-]{0,8}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,8}[a-z0-9])?){0,3}$/);
    fc.assert(
      fc.property(subdomain, (name) => {
        const labels = { 'kuma.io/display-name': name };
        expect(fieldsAtFault(name, 'my_mesh.1', labels)).toEqual([]);
        expect(fieldsAtFault(hashName({ mesh: 'm', name }), 'm', labels)).toEqual([]);
      }),
    );
  });

  it('has no invisible character, and neither has a mesh, a display name, a label key or a label value', () => {
    fc.assert(
      fc.property(anywhere(INVISIBLE), (text) => {
        expect(fieldsAtFault(text)).toEqual(['name']);
        expect(fieldsAtFault('x', text)).toEqual(['mesh']);
        expect(fieldsAtFault('x', 'm', { 'kuma.io/display-name': text })).toEqual(['labels["kuma.io/display-name"]']);
      }),
    );
    const inLabels = INVISIBLE.filter((text) => text !== '\u3164');
    fc.assert(
      fc.property(anywhere(inLabels), (text) => {
        expect(fieldsAtFault('x', 'm', { team: text })).toEqual(['labels["team"]']);
        const [violation] = peerNameViolations(timeout, { name: 'x', mesh: 'm', labels: { [text]: 'v' } });
        expect(violation?.reason).toContain('the key');
        // The field itself can be printed.
        expect(violation?.field).toMatch(/^[\x20-\x7e]+$/);
      }),
    );
  });

  it('has a mesh exactly when its type is mesh-scoped', () => {
    expect(fieldsAtFault('x', '')).toEqual(['mesh']);
    expect(fieldsAtFault('x', 'a'.repeat(101))).toEqual(['mesh']);
    expect(peerNameViolations(generator, { name: 'x', mesh: 'm', labels: {} }).map(({ field }) => field)).toEqual(['mesh']);
    expect(peerNameViolations(generator, { name: 'x', mesh: '', labels: {} })).toEqual([]);
  });

  it('may have labels of any visible text', () => {
    expect(fieldsAtFault('x', 'm', { 'k8s.kuma.io/namespace': '', 'a b/c': 'd e; f', имя: '"' })).toEqual([]);
  });
});
