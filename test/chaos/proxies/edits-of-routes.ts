// Random edits of routes: what they do, and to which services they lead. Each returns the kept connections that pass where it has edited.
import type { JsonObject } from '../../../src/resource/types.ts';
import type { Kept } from './kept-connections.ts';
import type { PolicyAims } from './policy-aims.ts';

const STREAMS: readonly Kept[] = ['stream@server-1', 'stream@server-2'];
const everyPath = [{ path: { type: 'PathPrefix', value: '/' } }];
const ofService = (name: string): JsonObject => ({ targetRef: { kind: 'MeshService', name } });

export function editsOfRoutes(aims: PolicyAims) {
  const weighted = (refs: readonly JsonObject[]): JsonObject[] =>
    aims.someOf(refs).map((ref) => ({ ...ref, weight: 1 + aims.below(5) }));
  const services = (...names: string[]): JsonObject[] => names.map((name) => ({ kind: 'MeshService', name, port: 80 }));
  const external = (name: string): JsonObject => ({ kind: 'MeshExternalService', name });
  const write = (type: string, name: string, service: string, touches: readonly Kept[], ruleOf: (by: number) => JsonObject) =>
    aims.write(type, name, (by) => ({ spec: { to: [{ ...ofService(service), rules: [ruleOf(by)] }] }, touches }));
  const setHeader = (by: number): JsonObject => ({
    filters: [{ type: 'RequestHeaderModifier', requestHeaderModifier: { set: [{ name: 'x-edit', value: String(by) }] } }],
  });
  return {
    'MeshHTTPRoute filters': () =>
      write('MeshHTTPRoute', 'route', 'http', [], (by) => ({ matches: everyPath, default: setHeader(by) })),
    'MeshHTTPRoute of gRPC': () =>
      write('MeshHTTPRoute', 'route-grpc', 'stream', STREAMS, (by) => ({ matches: everyPath, default: setHeader(by) })),
    'MeshHTTPRoute backends': () =>
      write('MeshHTTPRoute', 'route-backends', 'alpha', [], (by) => ({
        matches: everyPath,
        default: { ...setHeader(by), backendRefs: weighted([...services('alpha', 'beta', 'http2'), external('outside')]) },
      })),
    'MeshTCPRoute backends': () =>
      write('MeshTCPRoute', 'route-tcp', 'tcp', [], () => ({
        default: { backendRefs: [...services('tcp'), ...weighted([...services('gamma'), external('outside-tcp')])] },
      })),
    // It goes at once: a MeshHTTPRoute would end it too.
    'MeshTCPRoute of gRPC': async () => {
      const rule = { default: { backendRefs: services('stream') } };
      const touched = await write('MeshTCPRoute', 'route-tcp-grpc', 'stream', STREAMS, () => rule);
      await aims.edited.mesh.settle();
      await aims.remove('MeshTCPRoute', 'route-tcp-grpc');
      return touched;
    },
  };
}
