// Envoy resources as text in a MeshProxyPatch: the checks that are possible without Envoy's own messages. Pure.
import { parseYaml } from '../base/parse-yaml.ts';
import type { JsonObject } from '../resource/types.ts';
import { isObject } from '../resource/read-json.ts';

/** A longer text is not read: the YAML reader needs about a millisecond for each thousand characters. */
const MAX_READ = 16_384;
const MAX_ALIASES = 20;

/** The object of a text in YAML or JSON; null if it has none, undefined if the text is too long to read. */
export function readEnvoyValue(text: string): JsonObject | null | undefined {
  if (text.length > MAX_READ) return undefined;
  try {
    const [document, second] = parseYaml(text);
    if (document === undefined) return {};
    if (second !== undefined || document.errors.length > 0) return null;
    const value: unknown = document.toJS({ maxAliasCount: MAX_ALIASES });
    if (value === null) return {};
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}
