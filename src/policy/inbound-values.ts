// The values in force on an inbound or a zone listener, with the rules that set them, for each match (policies 6).
import type { JsonObject } from '../resource/types.ts';
import { confSources, type ConfValue } from './conf-sources.ts';
import { areSeparate, type InboundRule } from './inbound-rules.ts';
import { sortedText } from './sorted-text.ts';

/** @property match null: every request */
export type InboundValues = { readonly match: JsonObject | null; readonly values: readonly ConfValue[] };

/** The values of the rules of one type. Rules that are in force beside each other have values of their own; all others with one match merge. */
export function inboundValues(type: string, rules: readonly InboundRule[]): InboundValues[] {
  return [...Map.groupBy(rules, ({ match }) => sortedText(match)).values()].flatMap((same) => {
    const match = same[0]?.match ?? null;
    const parts = areSeparate(type, match) ? same.map((rule) => [rule]) : [same];
    return parts.map((part) => ({ match, values: confSources(part) }));
  });
}
