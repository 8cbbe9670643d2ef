// `{matchLabels}`: resources by the labels that they carry (policies 2.7 to 2.9).
import { z } from 'zod';
import { isSet } from '../resource/json-access.ts';
import { textMap } from './spec-fields.ts';
import { withRules } from './spec-rules.ts';
import { child } from '../resource/spec-path.ts';

const matchLabels = () => textMap().describe('A resource is selected if it carries every one of these labels.').optional();

/** Without labels it selects every resource of its kind. */
export const labelSelector = z.object({ matchLabels: matchLabels() });

/** The selector has at least one label. */
export const narrowingSelector = withRules(z.object({ matchLabels: matchLabels() }), (selector, path, findings) => {
  if (!isSet(selector['matchLabels'])) findings.violation(child(path, 'matchLabels'), 'must have at least one label');
});
