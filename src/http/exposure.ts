// The ports that the configuration opens to other machines, as warnings for the log at each start.
import { isIP } from 'node:net';
import type { Config } from '../base/config.ts';
import { isLoopback } from '../token/request-facts.ts';
import { mayWrite, type WriteRule } from './access.ts';
import { anonymousUser } from '../token/authenticate-request.ts';

type Exposed = {
  readonly apiServer: Pick<Config['apiServer'], 'readOnly' | 'http' | 'https'>;
  readonly access: { readonly static: { readonly resources: readonly WriteRule[] } };
};

/** One sentence for each port on which a remote caller without a token may write. */
export function exposureWarnings({ apiServer, access }: Exposed): string[] {
  if (apiServer.readOnly || !anonymousMayWrite(access.static.resources)) return [];
  return (['http', 'https'] as const).flatMap((door) => {
    const { enabled, interface: address } = apiServer[door];
    if (!enabled || address === 'localhost' || (isIP(address) !== 0 && isLoopback(address))) return [];
    const where = `the REST API listens on ${address}`;
    return [
      `apiServer.${door}.interface: ${where}, and every client that reaches it may write every resource except secrets without a token; ` +
        'list the allowed users in access.static.resources, or listen on 127.0.0.1',
    ];
  });
}

function anonymousMayWrite(rules: readonly WriteRule[]): boolean {
  return rules.some(({ types, meshes }) =>
    mayWrite(anonymousUser, { type: types[0] ?? '', mesh: meshes[0] === '*' ? '' : (meshes[0] ?? '') }, rules),
  );
}
