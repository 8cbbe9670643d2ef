// One violation of a document for people: position, field, reason. It takes a second line if it does not fit 80 columns.
import { visibleLine } from '../../base/visible-text.ts';
import type { TypeInfo } from '../../resource/type-registry.ts';

const WIDTH = 80;

/** `  shop.yaml:9:15: spec.to[0]: must be …` */
export function problemText(place: string, field: string, reason: string): string {
  const where = visibleLine(field === '' ? place : `${place}: ${field}`);
  const line = `  ${where}: ${reason}`;
  return line.length <= WIDTH && !reason.includes('\n') ? line : `  ${where}\n    ${reason.replaceAll('\n', '\n    ')}`;
}

type Named = { readonly info: TypeInfo; readonly mesh: string; readonly name: string };

/** `MeshTimeout shop/slow`. */
export function describeDocument({ info, mesh, name }: Named): string {
  return `${info.name} ${mesh === '' ? '' : `${mesh}/`}${name}`;
}
