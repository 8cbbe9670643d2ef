// `rules[].filters[]`: header modifiers, redirect, rewrite and mirror, in the form that MeshHTTPRoute has them (policies 2.5).
// Invariant: a filter that MeshHTTPRoute does not have is refused by name, never dropped.
import type { WrittenFilter, WrittenMatch } from '../policies/routes.ts';
import type { Field } from './field.ts';
import type { RouteFilter } from './gateway-route.ts';
import { NO_MIRROR_WEIGHT, parseMirrorBackend } from './parse-backends.ts';
import { modifierFilter } from './parse-header-modifier.ts';
import { textForms } from './text-forms.ts';

const CONF_KEYS = {
  RequestHeaderModifier: 'requestHeaderModifier',
  ResponseHeaderModifier: 'responseHeaderModifier',
  RequestRedirect: 'requestRedirect',
  URLRewrite: 'urlRewrite',
  RequestMirror: 'requestMirror',
} as const;
type FilterType = keyof typeof CONF_KEYS;
const TYPES = Object.keys(CONF_KEYS) as FilterType[];
const STATUS_CODES = [301, 302, 303, 307, 308] as const;

type Redirect = NonNullable<WrittenFilter['requestRedirect']>;
type Rewrite = NonNullable<WrittenFilter['urlRewrite']>;
type PathModifier = NonNullable<Rewrite['path']>;

/** The filters of a rule. @param matches parsed; a prefix can be replaced only if every match is a prefix */
export function parseFilters(rule: Field, matches: readonly WrittenMatch[], namespace: string | undefined): RouteFilter[] {
  const seen = new Map<string, string>();
  const filters = rule
    .at('filters')
    .items()
    .flatMap((item) => {
      if (!item.isGiven) item.refuse('must be an object with type');
      if (!item.isGiven || !item.isObject()) return [];
      const type = parseType(item);
      if (type === undefined) return [];
      const conf = item.at(CONF_KEYS[type]);
      item.allowKeys(['type', CONF_KEYS[type]], otherConfs(type));
      const other = seen.get(type);
      if (other !== undefined && type !== 'RequestMirror')
        item.refuse(`is the second ${type} of this rule, after ${other}: put both into one`);
      seen.set(type, item.path);
      if (!conf.isGiven) conf.refuse(`must be given for a filter of type ${type}`);
      if (!conf.isGiven || !conf.isObject()) return [];
      const filter = parseConf(type, conf, matches, namespace);
      return filter === undefined ? [] : [filter];
    });
  const redirect = seen.get('RequestRedirect');
  const rewrite = seen.get('URLRewrite');
  if (redirect !== undefined && rewrite !== undefined)
    rule.at('filters').refuse(`${redirect} redirects and ${rewrite} rewrites: a redirected request is not forwarded, keep one`);
  return filters;
}

function parseType(item: Field): FilterType | undefined {
  const type = item.at('type');
  if (!type.isGiven) return type.refuse(`must be given: one of ${TYPES.join(', ')}`);
  const found = TYPES.find((known) => type.shown === JSON.stringify(known));
  return found ?? type.refuse(`${type.shown} is not supported in a MeshHTTPRoute, which has ${TYPES.join(', ')}`);
}

function parseConf(
  type: FilterType,
  conf: Field,
  matches: readonly WrittenMatch[],
  namespace: string | undefined,
): RouteFilter | undefined {
  switch (type) {
    case 'RequestHeaderModifier':
    case 'ResponseHeaderModifier':
      return { type, written: modifierFilter(type, conf) };
    case 'RequestRedirect':
      return { type, written: { type, requestRedirect: parseRedirect(conf, matches) } };
    case 'URLRewrite':
      return { type, written: { type, urlRewrite: parseRewrite(conf, matches) } };
    case 'RequestMirror': {
      conf.allowKeys(['backendRef', 'percent', 'fraction', 'port'], { weight: NO_MIRROR_WEIGHT }, ['serviceName']);
      const backend = parseMirrorBackend(conf, namespace);
      const percentage = parsePercentage(conf);
      return backend === undefined ? undefined : { type, backend, percentage };
    }
  }
}

function parseRedirect(conf: Field, matches: readonly WrittenMatch[]): Redirect {
  conf.allowKeys(['scheme', 'hostname', 'path', 'port', 'statusCode']);
  const scheme = conf.at('scheme').choice(['http', 'https']);
  const hostname = conf.at('hostname').text(textForms.hostname);
  const path = parsePathModifier(conf.at('path'), matches);
  const port = conf.at('port').integer(1, 65_535);
  return {
    ...(scheme !== undefined && { scheme }),
    ...(hostname !== undefined && { hostname }),
    ...(path !== undefined && { path }),
    ...(port !== undefined && { port }),
    statusCode: conf.at('statusCode').choice(STATUS_CODES) ?? 302,
  };
}

function parseRewrite(conf: Field, matches: readonly WrittenMatch[]): Rewrite {
  conf.allowKeys(['hostname', 'path']);
  if (conf.keys().length === 0) conf.refuse('must have hostname or path: it would rewrite nothing');
  const hostname = conf.at('hostname').text(textForms.hostname);
  const path = parsePathModifier(conf.at('path'), matches);
  return { ...(hostname !== undefined && { hostname }), ...(path !== undefined && { path }) };
}

function parsePathModifier(field: Field, matches: readonly WrittenMatch[]): PathModifier | undefined {
  if (!field.isGiven || !field.isObject()) return undefined;
  if (!field.at('type').isGiven) return field.at('type').refuse('must be given: ReplaceFullPath or ReplacePrefixMatch');
  const type = field.at('type').choice(['ReplaceFullPath', 'ReplacePrefixMatch']);
  if (type === undefined) return undefined;
  const key = type === 'ReplaceFullPath' ? 'replaceFullPath' : 'replacePrefixMatch';
  field.allowKeys(['type', key]);
  if (!field.at(key).isGiven) return field.at(key).refuse(`must be given for type ${type}`);
  if (type === 'ReplacePrefixMatch' && !matches.every((match) => match.path?.type === 'PathPrefix'))
    return field.refuse('ReplacePrefixMatch needs a path of type PathPrefix in every match of the rule');
  const value = field.at(key).text(textForms.replacement);
  if (value === undefined) return undefined;
  return type === 'ReplaceFullPath' ? { type, replaceFullPath: value } : { type, replacePrefixMatch: value };
}

/** `percent`, or `fraction` as a decimal with four places: an integer where it is one, else a decimal string. */
function parsePercentage(conf: Field): number | string | undefined {
  const [percent, fraction] = [conf.at('percent'), conf.at('fraction')];
  if (percent.isGiven && fraction.isGiven) fraction.refuse('stands beside percent: keep one');
  if (percent.isGiven) return percent.integer(0, 100);
  if (!fraction.isGiven || !fraction.isObject()) return undefined;
  fraction.allowKeys(['numerator', 'denominator']);
  if (!fraction.at('numerator').isGiven) return fraction.at('numerator').refuse('must be given');
  const denominator = fraction.at('denominator').isGiven ? fraction.at('denominator').integer(1, 2_147_483_647) : 100;
  const numerator = fraction.at('numerator').integer(0, denominator ?? 2_147_483_647);
  if (numerator === undefined || denominator === undefined) return undefined;
  const percentage = Number(((numerator / denominator) * 100).toFixed(4));
  return Number.isInteger(percentage) ? percentage : String(percentage);
}

function otherConfs(type: FilterType): Record<string, string> {
  const others = TYPES.filter((other) => other !== type);
  return Object.fromEntries(
    others.map((other) => [CONF_KEYS[other], `belongs to a filter of type ${other}, this one is ${type}`]),
  );
}
