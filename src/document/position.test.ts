import { describe, expect, it } from 'vitest';
import { fc } from '../../test/support/property.ts';
import { memberPath, pathSteps, SourceFile } from './position.ts';

const TEXT = `type: Mesh
name: shop
---
# a comment
type: MeshTimeout
name: slow
labels: { kuma.io/zone: east }
spec:
  to:
    - &item
      targetRef: { kind: Mesh }
      default:
        http:
          requestTimeout: 20x
    - *item
`;

describe('the position of a field', () => {
  const file = new SourceFile('slow.yaml', TEXT);

  it.each([
    ['type', 5, 1],
    ['spec.to[0].default.http.requestTimeout', 14, 11],
    ['spec.to[0].targetRef.kind', 11, 20],
    ['spec.to[0]', 11, 7],
    ['labels["kuma.io/zone"]', 7, 11],
    // An alias stands for what it names.
    ['spec.to[1].default.http', 13, 9],
    // The place of a missing field is that of its parent.
    ['spec.to[0].default.connectionTimeout', 12, 7],
    ['spec.to[7].default', 9, 3],
    ['mesh', 5, 1],
    ['', 5, 1],
  ])('%s is at %i:%i', (path, line, column) => {
    expect(file.positionOf(1, path)).toEqual({ line, column });
  });

  it('is found in JSON, and is the start of the file when the document does not exist', () => {
    const json = new SourceFile('a.json', '{\n  "spec": {"to": [ {"a": 1},\n {"b": 2} ]}\n}');
    expect(json.positionOf(0, 'spec.to[1].b')).toEqual({ line: 3, column: 3 });
    expect(json.positionOf(4, 'spec')).toEqual({ line: 1, column: 1 });
  });

  it('splits paths in the syntax of violations', () => {
    expect(pathSteps('spec.to[10].labels["a.b/c \\" ]"].x-y')).toEqual(['spec', 'to', 10, 'labels', 'a.b/c " ]', 'x-y']);
    expect(pathSteps('spec.«x»')).toEqual(['spec']);
  });

  it('is described by a path that is parsed to the same steps', () => {
    const step = fc.oneof(fc.nat(), fc.string(), fc.constantFrom('spec', 'x-y', '0', 'a.b', ''));
    fc.assert(
      fc.property(fc.array(step, { maxLength: 5 }), (steps) => {
        expect(pathSteps(steps.reduce<string>(memberPath, ''))).toEqual(steps);
      }),
    );
  });
});
