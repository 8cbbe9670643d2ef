// The objects of a Kuma global in its Kubernetes cluster, read by kubectl: the operator has it, with the credentials of the cluster.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { MeridianError, messageOf } from '../base/errors.ts';
import type { JsonObject } from '../resource/types.ts';
import { readObjects } from '../takeover/read-dump.ts';
import { CLUSTER_ID } from './sort-object.ts';

type Cluster = { readonly kubeconfig: string; readonly systemNamespace: string };

const KUMA_GROUP = 'kuma.io';
/** The largest answer in bytes. A fleet of 100,000 proxies has about 300 MB. */
const MAX_BYTES = 1024 * 1024 * 1024;

/**
 * The resources of Kuma, the Secrets of its namespace, and the ConfigMap with the cluster id. It only reads.
 * @throws MeridianError `unavailable` with what kubectl says, and `config` where there is no kubectl
 */
export async function readCluster({ kubeconfig, systemNamespace }: Cluster): Promise<JsonObject[]> {
  const kubectl = (...args: string[]): Promise<string> => runKubectl(['--kubeconfig', kubeconfig, ...args]);
  const kinds = (await kubectl('api-resources', `--api-group=${KUMA_GROUP}`, '--verbs=list', '-o', 'name'))
    .split(/\s+/)
    .filter(Boolean);
  if (kinds.length === 0)
    throw new MeridianError('invalid', `the cluster of ${kubeconfig} has no resources of ${KUMA_GROUP}: give that of the global`);
  const answers = [
    await kubectl('get', kinds.join(','), '--all-namespaces', '-o', 'json'),
    await kubectl('get', 'secrets', '-n', systemNamespace, '-o', 'json'),
    await kubectl('get', `configmap/${CLUSTER_ID}`, '-n', systemNamespace, '-o', 'json'),
  ];
  return answers.flatMap((answer) => readObjects('kubectl', answer));
}

async function runKubectl(args: readonly string[]): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)('kubectl', args, { maxBuffer: MAX_BYTES });
    return stdout;
  } catch (cause) {
    const { code, stderr = '' } = cause as { readonly code?: unknown; readonly stderr?: string };
    if (code === 'ENOENT')
      throw new MeridianError('config', 'there is no kubectl on this machine: install it, or give a dump with -f', { cause });
    throw new MeridianError('unavailable', `kubectl failed: ${stderr.trim() || messageOf(cause)}`, { cause });
  }
}
