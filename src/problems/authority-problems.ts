// The trust domains of which the last certificate authority ends. A MeshIdentity that has lost its authority is another problem. Pure.
import { validityOf } from '../identity/authority-validity.ts';
import { certificatesIn } from '../identity/trust-bundles.ts';
import { compareText } from '../base/compare-text.ts';
import { displayNameOf } from '../resource/labels.ts';
import { textOf } from '../resource/read-json.ts';
import type { Resource } from '../resource/types.ts';
import { problemOf, type Problem } from './problem.ts';

const DAY_MS = 24 * 3_600_000;
/** A rotation takes as long as the certificates of proxies live. */
const AUTHORITY_MS = 30 * DAY_MS;

/** @param trusts the MeshTrusts. Those of one mesh and trust domain are trusted together */
export function authorityProblems(trusts: readonly Resource[], now: Date): Problem[] {
  const domains = Map.groupBy(trusts, ({ mesh, spec }) => JSON.stringify([mesh, textOf(spec['trustDomain'])]));
  return [...domains.values()].flatMap((together) => {
    const ends = together.flatMap(({ spec }) => certificatesIn(spec['caBundles'])).map((pem) => validityOf(pem).notAfter);
    const [first] = together;
    const last = ends.toSorted((a, b) => b.getTime() - a.getTime())[0];
    if (first === undefined || last === undefined || last.getTime() - now.getTime() >= AUTHORITY_MS) return [];
    const [domain, until] = [textOf(first.spec['trustDomain']), last.toISOString()];
    const names = [...new Set(together.map(displayNameOf))].toSorted(compareText);
    const verb = last <= now ? 'has ended' : 'ends';
    const message = `the last certificate authority of trust domain ${domain} in mesh ${first.mesh} ${verb} at ${until}: proxies of this trust domain are refused from then on`;
    const about = { type: 'MeshTrust', mesh: first.mesh, resources: names, since: null, until, message };
    return [problemOf('authorityEnds', [first.mesh, domain], about)];
  });
}
