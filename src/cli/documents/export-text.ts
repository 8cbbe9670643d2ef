// The text of `export`: documents of YAML that `apply` reads as the same resources. Pure.
import { applyable } from '../../document/universal-form.ts';
import type { TypeInfo } from '../../resource/type-registry.ts';
import type { Item } from '../client/api-client.ts';
import { serialize } from '../output.ts';

/** The document of a resource, without the trailing line feed. @param isFirst false: the text begins with the line between documents */
export function exportedText(info: TypeInfo, item: Item, { isFirst }: { readonly isFirst: boolean }): string {
  return `${isFirst ? '' : '---\n'}${serialize(applyable(info, item), 'yaml')}`;
}
