// The description of the control plane and of its types (rest-api 1).
import { hostname } from 'node:os';
import type { FastifyInstance } from 'fastify';
import { resourceTypes, type TypeInfo } from '../resource/type-registry.ts';
import type { JsonObject } from '../resource/types.ts';
import type { ApiContext } from './api-options.ts';
import type { Answer } from '../answers/answers.ts';
import { about, component } from '../http/route-config.ts';

const TAG = 'Control plane';

export function addIndexRoutes(app: FastifyInstance, { options, callers }: ApiContext): void {
  app.get('/', about(TAG, 'What this control plane is', { answer: component('Index') }), async (): Promise<Answer<'Index'>> => ({
    hostname: hostname(),
    product: options.product,
    version: options.productVersion,
    instanceId: options.instanceId,
    clusterId: await options.clusterId(),
    gui: '/gui',
    mode: options.mode,
    ...(options.zone !== null && { zone: options.zone, federated: options.federated }),
  }));
  // The only response without indentation.
  app.get('/config', about(TAG, 'Its configuration without secrets'), async (request, reply) => {
    callers.require('controlPlaneMetadata', request);
    return await reply.type('application/json').send(JSON.stringify(options.config));
  });
  app.get(
    '/who-am-i',
    about(TAG, 'Who the caller is', { answer: component('WhoAmI') }),
    async (request): Promise<Answer<'WhoAmI'>> => {
      const { name, groups } = callers.userOf(request);
      return { name, groups };
    },
  );
  const isReadOnly = (info: TypeInfo): boolean => options.federated || info.writers === 'none';
  // Kuma's clients request every type in this list, and warn about each unknown one.
  const types = resourceTypes.filter(({ path, isOwn }) => path !== '' && !isOwn).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  app.get('/_resources', about(TAG, 'Types of resources'), async () => ({
    resources: types.map((info) => describeType(info, isReadOnly(info))),
  }));
  app.get('/policies', about(TAG, 'Types of policies'), async () => ({
    policies: types.flatMap((info) => (info.policy === null ? [] : [describePolicy(info, info.policy, isReadOnly(info))])),
  }));
}

function describeType(info: TypeInfo, readOnly: boolean): JsonObject {
  return {
    name: info.name,
    path: info.path,
    scope: info.scope,
    readOnly,
    shortName: info.shortName ?? '',
    singularDisplayName: info.singular,
    pluralDisplayName: info.plural,
    includeInFederation: info.kds.globalToZone && !info.isInsight,
    ...(info.policy !== null && {
      policy: {
        isTargetRef: true,
        hasToTargetRef: info.policy.to,
        hasRulesTargetRef: info.policy.rules,
        hasFromTargetRef: false,
        isFromAsRules: false,
      },
    }),
  };
}

function describePolicy(info: TypeInfo, { to, rules }: { to: boolean; rules: boolean }, readOnly: boolean): JsonObject {
  return {
    name: info.name,
    readOnly,
    path: info.path,
    singularDisplayName: info.singular,
    pluralDisplayName: info.plural,
    isExperimental: false,
    isTargetRefBased: true,
    isInbound: rules,
    isOutbound: to,
  };
}
