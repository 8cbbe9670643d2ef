// `-l team=a,app=shop` and `--zone east` → the filters of a list (rest-api 2.2). Pure.
import { label } from '../resource/labels.ts';
import { UsageError } from './exit-codes.ts';

/** @throws UsageError for a part that is no `key=value` */
export function filterOf({
  selector = [],
  zone,
}: {
  selector?: readonly string[] | undefined;
  zone?: string | undefined;
}): Record<string, string> {
  const filter: Record<string, string> = {};
  for (const part of selector.flatMap((text) => text.split(',')).filter((text) => text.trim() !== '')) {
    const [, key = '', value = ''] = /^\s*([^\s=!,()[\]]+)\s*==?\s*([^\s=!,()[\]]*)\s*$/.exec(part) ?? [];
    if (key === '') throw new UsageError(`--selector: ${JSON.stringify(part)} must be key=value; several are joined by commas`);
    filter[`filter[labels.${key}]`] = value;
  }
  if (zone !== undefined) filter[`filter[labels.${label.zone}]`] = zone;
  return filter;
}
