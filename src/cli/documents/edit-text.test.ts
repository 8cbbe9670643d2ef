import { describe, expect, it } from 'vitest';
import { withComments, withoutComments } from './edit-text.ts';

const TEXT = 'type: Mesh\nname: shop\nspce: {}\n';
const path = '/tmp/shop.yaml';

function lineOf(file: string, text: string): number {
  return file.split('\n').findIndex((line) => line.startsWith(text)) + 1;
}

describe('the text of an editor', () => {
  it('comes back without the comments at its head', () => {
    expect(withoutComments(withComments(TEXT, 'Mesh shop'))).toBe(TEXT);
  });

  it('names places of itself, however often it is shown again', () => {
    let file = withComments(TEXT, 'Mesh shop');
    for (const reasons of [['is not known'], ['is not known', 'is no more known'], ['is not known']]) {
      const place = `  ${path}:${String(lineOf(file, 'spce'))}:1: spce`;
      file = withComments(TEXT, 'Mesh shop', { file, path, problems: ['nothing was done:', place, ...reasons] });
      expect(file).toContain(`#   ${path}:${String(lineOf(file, 'spce'))}:1: spce\n`);
      expect(withoutComments(file)).toBe(TEXT);
    }
  });
});
