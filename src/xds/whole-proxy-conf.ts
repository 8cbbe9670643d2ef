// The conf in force of a policy about a whole proxy (MeshTrace, MeshMetric, MeshPassthrough), with what is left out of it.
import type { ProxyRules } from '../policy/build-rules.ts';
import type { Conf, ProxyConfs } from '../policies/confs.ts';
import type { Contribution } from '../policy/resource-rules.ts';
import type { ConfigProblem } from './config-problem.ts';
import { problemsOf, usableConf } from './usable-conf.ts';

export type WholeProxyConf<T extends keyof ProxyConfs> = {
  readonly conf: Conf<T>;
  /** Weakest first. */
  readonly contributions: readonly Contribution[];
  /** Of the parts that are left out. */
  readonly problems: readonly ConfigProblem[];
};

/** The usable conf of a policy about the whole proxy; null where none is in force. */
export function wholeProxyConf<T extends keyof ProxyConfs>({ types }: ProxyRules, type: T): WholeProxyConf<T> | null {
  const found = types.find((candidate) => candidate.type === type)?.proxyRule ?? null;
  if (found === null) return null;
  const { conf, refused } = usableConf(type, 'default', found.conf);
  return { conf, contributions: found.contributions, problems: problemsOf(refused, 'default', found.contributions) };
}
