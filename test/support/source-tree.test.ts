import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  circles,
  exportsUsedAlone,
  gone,
  importsOf,
  oversized,
  readSourceTree,
  withoutTests,
  type SourceTree,
} from './source-tree.ts';

const GENERAL = { files: 3, lines: 20 };

function tree(files: Record<string, string>): SourceTree {
  return new Map(Object.entries(files));
}

describe('oversized', () => {
  it('names a room with more files than it may have, and counts no tests and no folders in it', () => {
    const room = tree({ 'kds/a.ts': '', 'kds/b.ts': '', 'kds/c.ts': '', 'kds/a.test.ts': '', 'kds/rows/d.ts': '' });
    expect(oversized(room, GENERAL, {})).toEqual([]);
    expect(oversized(new Map([...room, ['kds/d.ts', '']]), GENERAL, {})).toEqual([expect.stringMatching(/^kds has 4 files/)]);
  });

  it('finds 400 more files in a room of the product', () => {
    const src = readSourceTree(join(import.meta.dirname, '../../src'));
    const more = Array.from({ length: 400 }, (_, index): [string, string] => [`kds/more-${String(index)}.ts`, '']);
    const rooms = { kds: { files: 200, lines: 20_000 } };
    const wrongOf = (files: SourceTree) =>
      oversized(files, { files: 100, lines: 20_000 }, rooms).filter((text) => text.startsWith('kds has'));
    expect(wrongOf(src)).toEqual([expect.stringContaining('needs no limit of its own')]);
    expect(wrongOf(new Map([...src, ...more]))).toEqual([expect.stringContaining('it may have 200 files')]);
  });

  it('names a room with more lines than it may have, and a file with more than 500', () => {
    expect(oversized(tree({ 'kds/a.ts': '\n'.repeat(20) }), GENERAL, {})).toEqual([
      expect.stringMatching(/^kds has 1 files and 21 lines/),
    ]);
    const [file, room] = oversized(tree({ 'kds/a.test.ts': '\n'.repeat(500) }), GENERAL, {});
    expect([file, room]).toEqual([expect.stringMatching(/^kds\/a.test.ts has 501 lines/), undefined]);
  });

  it('permits what the limit of the room permits, and names a limit that is no longer needed', () => {
    const files = tree({ 'kds/a.ts': '', 'kds/b.ts': '', 'kds/c.ts': '', 'kds/d.ts': '' });
    expect(oversized(files, GENERAL, { kds: { files: 4, lines: 30 } })).toEqual([]);
    expect(oversized(files, GENERAL, { kds: { files: 4, lines: 30 }, api: { files: 9, lines: 9 } })).toEqual([
      expect.stringMatching(/^api has 0 files.*remove it/),
    ]);
  });
});

describe('exportsUsedAlone', () => {
  const used = tree({
    'a.ts': 'export const one = 1;\nexport type Two = 2;\nexport async function three() {}\nconst four = one;\n',
    'a.test.ts': "import { one } from './a.ts';\n",
  });

  it('names what no other file imports, with types', () => {
    expect(exportsUsedAlone(used, new Map())).toEqual(['a.ts exports Two', 'a.ts exports three']);
  });

  it('counts the imports of other trees, and dynamic ones', () => {
    const others = tree({
      'b.ts': "import type { Two } from '../src/a.ts';",
      'c.ts': "const { three } = await import('./a.ts');",
    });
    expect(exportsUsedAlone(used, others)).toEqual([]);
  });
});

describe('circles', () => {
  const files = tree({
    'a/one.ts': "import { two } from './two.ts';\n",
    'a/two.ts': "import type { Three } from '../b/three.ts';\n",
    'b/three.ts': "export { one } from '../a/one.ts';\nimport { four } from './four.ts';\n",
    'b/four.ts': '',
  });

  it('finds a circle that only types close', () => {
    expect(circles(files, { types: true })).toEqual([['a/one.ts', 'a/two.ts', 'b/three.ts']]);
    expect(circles(files, { types: false })).toEqual([]);
  });

  it('finds each circle once, whatever leads into it', () => {
    const two = tree({
      'x.ts': "import './y.ts';\nimport { a } from './a.ts';\n",
      'a.ts': "import { b } from './b.ts';\n",
      'b.ts': "import { a } from './a.ts';\n",
      'c.ts': "import { d } from './d.ts';\nimport { a } from './a.ts';\n",
      'd.ts': "const c = import('./c.ts');\n",
    });
    expect(circles(two, { types: false })).toEqual([
      ['a.ts', 'b.ts'],
      ['c.ts', 'd.ts'],
    ]);
  });

  it('resolves imports from the folder of the file', () => {
    expect(importsOf(files, 'b/three.ts', { types: false })).toEqual(['a/one.ts', 'b/four.ts']);
  });
});

describe('gone', () => {
  it('names files and folders that do not exist', () => {
    const files = withoutTests(tree({ 'a/one.ts': '', 'a/two.test.ts': '' }));
    expect(gone(files, ['a/one.ts', 'a/two.ts', 'a/two.test.ts', 'a/', 'b/'])).toEqual(['a/two.ts', 'a/two.test.ts', 'b/']);
  });
});
