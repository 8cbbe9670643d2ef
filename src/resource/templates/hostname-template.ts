// Templates of HostnameGenerators (policies 9.5): from a service to its hostname. Pure.
import { renderTemplate } from './go-template.ts';
import { displayNameOf, label } from '../labels.ts';
import { homeZoneOf } from '../ownership.ts';
import { isDnsName } from '../dns-name.ts';
import type { Resource } from '../types.ts';

export type Rendered = { readonly hostname: string } | { readonly error: string };

/**
 * The hostname of a service, or the reason for its absence: a missing label, an unknown action, or a text that is no RFC 1123 name.
 * @param zone the own zone, for services without a zone label
 */
export function renderHostname(template: string, service: Pick<Resource, 'name' | 'mesh' | 'labels'>, zone: string): Rendered {
  const { name, mesh, labels } = service;
  const fields = {
    Name: name,
    DisplayName: displayNameOf(service),
    Namespace: labels[label.namespace] ?? '',
    Mesh: mesh,
    Zone: homeZoneOf({ labels }, zone),
  };
  const rendered = renderTemplate(template, { fields, labels });
  if ('error' in rendered) return rendered;
  const { text } = rendered;
  return isDnsName(text) ? { hostname: text } : { error: `${JSON.stringify(text)} is no RFC 1123 name` };
}
