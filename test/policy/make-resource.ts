// Resources for policy tests, with the labels that a control plane would have written.
import { label } from '../../src/resource/labels.ts';
import type { JsonObject, Resource } from '../../src/resource/types.ts';
import { makeRow } from '../support/make-row.ts';

export type Made = {
  mesh?: string;
  zone?: string;
  namespace?: string;
  origin?: string;
  role?: string;
  labels?: Record<string, string>;
};

/** A resource of mesh `default`; one with a zone is of that zone's origin, one without of the global's. */
export function make(type: string, name: string, spec: JsonObject, made: Made = {}): Resource {
  const { zone, namespace, role } = made;
  const labels: Record<string, string> = {
    [label.displayName]: name,
    [label.origin]: made.origin ?? (zone === undefined ? 'global' : 'zone'),
    ...(zone !== undefined && { [label.zone]: zone }),
    ...(namespace !== undefined && { [label.namespace]: namespace }),
    ...(role !== undefined && { [label.policyRole]: role }),
    ...made.labels,
  };
  const stored = [name, namespace, zone].filter((part) => part !== undefined).join('.');
  return makeRow(type, stored, { labels, spec, ...(made.mesh !== undefined && { mesh: made.mesh }) });
}

export function makeDataplane(name: string, made: Made = {}, networking: JsonObject = {}): Resource {
  const inbound = [{ port: 8080, name: 'http', protocol: 'http' }];
  return make('Dataplane', name, { networking: { address: '10.0.0.1', inbound, ...networking } }, made);
}

/** A MeshService with port 80 (unnamed, http) and port 90 named `admin`. */
export function makeService(name: string, made: Made = {}): Resource {
  return make(
    'MeshService',
    name,
    {
      ports: [
        { port: 80, appProtocol: 'http' },
        { port: 90, name: 'admin' },
      ],
    },
    made,
  );
}

/** A MeshHTTPRoute from a path to a MeshService. */
export function makeRoute(name: string, service: JsonObject, path = '/', made: Made = {}, top?: JsonObject): Resource {
  const rules = [
    { matches: [{ path: { type: 'PathPrefix', value: path } }], default: { backendRefs: [{ kind: 'MeshService', name }] } },
  ];
  const spec = { to: [{ targetRef: { kind: 'MeshService', ...service }, rules }], ...(top !== undefined && { targetRef: top }) };
  return make('MeshHTTPRoute', name, spec, made);
}

/** A policy with one `to[]` item. */
export function makeTo(
  type: string,
  name: string,
  targetRef: JsonObject,
  conf: JsonObject,
  made: Made = {},
  top?: JsonObject,
): Resource {
  return make(type, name, { to: [{ targetRef, default: conf }], ...(top !== undefined && { targetRef: top }) }, made);
}
