// The usable policies of an outbound or an inbound, and the problems of the parts that are left out.
import type { EffectivePolicy } from '../policy/effective-conf.ts';
import { catchAllConf, type InboundRule } from '../policy/inbound-rules.ts';
import type { Conf, Confs } from '../policies/confs.ts';
import type { InboundMatch } from '../schema/inbound-match.ts';
import { fieldOf, type ConfigProblem } from './config-problem.ts';
import { problemsOf, usableConf } from './usable-conf.ts';

export type Report = (problem: ConfigProblem) => void;

/** Reports each problem once. */
export function reportTo(problems: ConfigProblem[]): Report {
  const known = new Set<string>();
  let counted = 0;
  const keyOf = ({ policy, field, reason }: ConfigProblem): string => JSON.stringify([policy, field, reason]);
  return (problem) => {
    // Others may report to the same list.
    for (; counted < problems.length; counted += 1) known.add(keyOf(problems[counted] ?? problem));
    if (known.has(keyOf(problem))) return;
    problems.push(problem);
  };
}

/** The policies in force with the usable parts of their confs; the same list where all of them are usable. */
export function usablePolicies(policies: readonly EffectivePolicy[], report: Report): readonly EffectivePolicy[] {
  const usable = policies.map((policy) => {
    const [given = {}] = policy.conf;
    const { conf, refused } = usableConf(policy.type, 'to', given);
    for (const problem of problemsOf(refused, 'to', policy.contributions)) report(problem);
    return conf === given ? policy : { ...policy, conf: [conf] };
  });
  return usable.every((policy, at) => policy === policies[at]) ? policies : usable;
}

/** A rule whose conf and match are checked. */
export type UsableRule<T extends keyof Confs> = InboundRule<Conf<T>, InboundMatch>;

/** The rules of an inbound with the usable parts of their confs. A rule with an unreadable match is left out. */
export function usableRules<T extends keyof Confs>(type: T, rules: readonly InboundRule[], report: Report): UsableRule<T>[] {
  // The check has seen them.
  return checkedRules(type, rules, report) as UsableRule<T>[];
}

function checkedRules(type: string, rules: readonly InboundRule[], report: Report): InboundRule[] {
  const usable = rules.flatMap((rule) => {
    const { conf, refused } = usableConf(type, 'rules', rule.conf, rule.match);
    for (const { path, reason } of refused) {
      // A rule has one of the matches of its item.
      const field = conf === null ? `spec.rules[${String(rule.index)}].matches` : fieldOf('rules', rule.index, path);
      report({ policy: rule.policy.kri, field, reason });
    }
    return conf === null ? [] : [conf === rule.conf ? rule : { ...rule, conf }];
  });
  // Confs that are good each may merge into a bad one.
  const common = usable.filter(({ match }) => match === null);
  const [last] = common.slice(-1);
  if (common.length < 2 || last === undefined) return usable;
  const merged = usableConf(type, 'rules', catchAllConf(common));
  if (merged.refused.length === 0) return usable;
  for (const { path, reason } of merged.refused)
    report({ policy: last.policy.kri, field: fieldOf('rules', last.index, path), reason });
  return [...usable.filter(({ match }) => match !== null), { ...last, conf: merged.conf ?? {} }];
}

/** Reports the rules for some clients, where all clients have the same conf. */
export function reportMatches(
  rules: readonly Omit<InboundRule<unknown, unknown>, 'conf'>[],
  reason: string,
  report: Report,
): void {
  for (const { match, policy, index } of rules)
    if (match !== null) report({ policy: policy.kri, field: `spec.rules[${String(index)}].matches`, reason });
}
