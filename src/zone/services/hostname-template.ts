// Templates of HostnameGenerators (policies 9.5): the part of Go's text/template that they may use. Pure.
import { isDnsName } from '../../resource/schema/spec-fields.ts';
import { displayNameOf, label } from '../../resource/labels.ts';
import type { Resource } from '../../resource/types.ts';

const ACTION = /(?:\{\{-|\{\{)\s*([^{}]*?)\s*(?:-\}\}|\}\})/g;
const LABEL = /^label\s+(?:"([^"]+)"|`([^`]+)`)$/;

type Service = Pick<Resource, 'name' | 'mesh' | 'labels'>;

const FIELDS: ReadonlyMap<string, (service: Service, zone: string) => string> = new Map([
  ['.Name', ({ name }) => name],
  ['.DisplayName', (service) => displayNameOf(service)],
  ['.Namespace', ({ labels }) => labels[label.namespace] ?? ''],
  ['.Mesh', ({ mesh }) => mesh],
  ['.Zone', ({ labels }, zone) => labels[label.zone] ?? zone],
]);

export type Rendered = { readonly hostname: string } | { readonly error: string };

/**
 * The hostname of a service, or why there is none: a label that it does not carry, an action that is not known, or a text that
 * is no RFC 1123 name.
 * @param zone the own zone, for services without a zone label
 */
export function renderHostname(template: string, service: Service, zone: string): Rendered {
  let error: string | null = null;
  const hostname = template.replace(ACTION, (_, action: string) => {
    const value = valueOf(action, service, zone);
    if (typeof value === 'string') return value;
    error ??= value.error;
    return '';
  });
  if (error !== null) return { error };
  return isDnsName(hostname) ? { hostname } : { error: `${JSON.stringify(hostname)} is no RFC 1123 name` };
}

function valueOf(action: string, service: Service, zone: string): string | { error: string } {
  const field = FIELDS.get(action);
  if (field !== undefined) return field(service, zone);
  const [, quoted, raw] = LABEL.exec(action) ?? [];
  const key = quoted ?? raw;
  if (key === undefined) return { error: `{{ ${action} }} is not known` };
  return service.labels[key] ?? { error: `the service has no label ${JSON.stringify(key)}` };
}
