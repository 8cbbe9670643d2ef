import { describe, expect, it } from 'vitest';
import { EditedFile, withComments, withoutComments } from './edit-text.ts';

const PROBLEMS = ['nothing was done:', '  /tmp/shop.yaml:4:1: spce', '    is not known'];

describe('the text of an editor', () => {
  it.each(['type: Mesh\nname: shop\nspce: {}\n', 'type: Secret\ndata: |+\n  a\n\n\n', ''])(
    '%j is read back without comments',
    (text) => {
      expect(withoutComments(withComments(text, 'Mesh shop')).trimEnd()).toBe(text.trimEnd());
      expect(withoutComments(withComments(text, 'Mesh shop', PROBLEMS)).trimEnd()).toBe(text.trimEnd());
    },
  );

  it('is read back with the blank lines at its end', () => {
    const text = 'data: |+\n  a\n\n\n';
    expect(withoutComments(withComments(text, 'Secret key', PROBLEMS))).toBe(text);
  });

  it('keeps the line numbers of the document when it is shown again with any number of errors', () => {
    const file = withComments('type: Mesh\nname: shop\nspce: {}\n', 'Mesh shop');
    for (const problems of [PROBLEMS, [...PROBLEMS, 'and more'], ['one']]) {
      const shown = withComments(withoutComments(file), 'Mesh shop', problems);
      expect(shown.split('\n').slice(1, 4)).toEqual(file.split('\n').slice(1, 4));
      expect(shown.split('\n').slice(4, -1)).toEqual(problems.map((line) => `# ${line}`));
    }
  });
});

describe('the editor', () => {
  it.each([
    [{ VISUAL: '', EDITOR: 'printf done >' }],
    [{ VISUAL: ' ', EDITOR: 'printf done >' }],
    [{ VISUAL: 'printf done >', EDITOR: 'false' }],
  ])('is that of the first variable of %j that is not blank', async (env) => {
    const file = await EditedFile.create('mesh.yaml');
    try {
      expect(await file.edit('type: Mesh\n', env)).toBe('done');
    } finally {
      await file.remove();
    }
  });
});
