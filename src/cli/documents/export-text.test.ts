import { describe, expect, it } from 'vitest';
import { fc } from '../../../test/support/property.ts';
import { visibleText } from '../../base/visible-text.ts';
import { typeOf } from '../../resource/type-registry.ts';
import { exportedText } from './export-text.ts';
import { parseDocuments } from './read-files.ts';

const text = fc
  .array(
    fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 5 }),
      fc.constantFrom('\u200d', '\u00ad', '\u202e', '\r', '\n', ' ', '# ', ': '),
    ),
    {
      maxLength: 6,
    },
  )
  .map((parts) => parts.join('').replaceAll('\u0000', ''));

describe('the text of export', () => {
  it('is applied as the same resources, also with invisible characters and blank lines at the end of a value', () => {
    const info = typeOf('MeshProxyPatch');
    fc.assert(
      fc.property(fc.array(text, { minLength: 1, maxLength: 4 }), (values) => {
        const items = values.map((value, index) => ({
          type: info.name,
          mesh: 'shop',
          name: `patch-${String(index)}`,
          labels: { team: value },
          spec: { default: { appendModifications: [{ cluster: { operation: 'Add', value } }] } },
        }));
        // `print` escapes what is left.
        const printed = items
          .map((item, index) => visibleText(`${exportedText(info, item, { isFirst: index === 0 })}\n`))
          .join('');
        expect(parseDocuments([{ name: 'export.yaml', text: printed }], 'default').map(({ body }) => body)).toEqual(items);
      }),
    );
  });
});
