// MeshTimeout: how long connections and requests may take (policies 2.1).
import type { Conf } from '../confs.ts';
import type { PolicyDefinition } from '../policy-definition.ts';
import { connectTimeout, connectionTimeouts, headersTimeout, routeTimeouts, tcpIdleTimeout } from './envoy.ts';
import { checkMeshTimeout, meshTimeoutSpec } from './spec.ts';

export const meshTimeout: PolicyDefinition<Conf<'MeshTimeout'>> = {
  schema: meshTimeoutSpec,
  check: checkMeshTimeout,
  cluster: connectTimeout,
  clusterHttp: connectionTimeouts,
  routeAction: routeTimeouts,
  connectionManager: headersTimeout,
  tcpProxy: tcpIdleTimeout,
  byClient: new Set(['http.requestTimeout', 'http.streamIdleTimeout']),
};
