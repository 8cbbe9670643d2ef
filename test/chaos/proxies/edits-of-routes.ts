// Random edits of routes: what they do, and to which services they lead. Each returns the kept connections that pass where it has edited.
import type { JsonObject } from '../../../src/resource/types.ts';
import { refOf } from './edited-mesh.ts';
import type { Kept } from './kept-connections.ts';
import { SPREAD } from './other-zone.ts';
import type { PolicyAims } from './policy-aims.ts';

const STREAMS: readonly Kept[] = ['stream@server-1', 'stream@server-2'];
const everyPath = [{ path: { type: 'PathPrefix', value: '/' } }];
const ofService = (name: string): JsonObject => ({ targetRef: { kind: 'MeshService', name } });

export function editsOfRoutes(aims: PolicyAims) {
  const weighted = (refs: readonly JsonObject[]): JsonObject[] =>
    aims.someOf(refs).map((ref) => ({ ...ref, weight: 1 + aims.below(5) }));
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
        default: { ...setHeader(by), backendRefs: weighted(['alpha', 'beta', 'http2', 'outside', 'far', SPREAD].map(refOf)) },
      })),
    'MeshTCPRoute backends': () =>
      write('MeshTCPRoute', 'route-tcp', 'tcp', [], () => ({
        default: { backendRefs: [refOf('tcp'), ...weighted(['gamma', 'outside-tcp', 'far-tcp'].map(refOf))] },
      })),
    // It goes at once: a MeshHTTPRoute would end it too.
    'MeshTCPRoute of gRPC': async () => {
      const rule = { default: { backendRefs: [refOf('stream')] } };
      const touched = await write('MeshTCPRoute', 'route-tcp-grpc', 'stream', STREAMS, () => rule);
      await aims.edited.settle();
      await aims.remove('MeshTCPRoute', 'route-tcp-grpc');
      return touched;
    },
  };
}
