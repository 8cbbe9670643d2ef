// `dataplane run --transparent-proxy`: the Dataplane by the settings of the redirection, and the user whose connections are not redirected.
import { resolve } from 'node:path';
import type { JsonObject } from '../../resource/types.ts';
import { messageOf } from '../../base/errors.ts';
import type { RedirectSettings } from '../../redirect/settings.ts';
import { UsageError } from '../exit-codes.ts';
import { note } from '../output.ts';
import { fileSettings } from './redirect-options.ts';

type Options = {
  readonly transparentProxy?: boolean;
  readonly transparentProxyConfig?: string;
  readonly user?: string;
};

type Run = {
  readonly dataplane: JsonObject | null;
  /** The folder of the proxy, by the home folder of its user. */
  readonly workFolder: (home: string | undefined) => string;
};

type Prepared = {
  readonly dataplane: JsonObject | null;
  readonly workFolder: string;
  /** The user of a redirected proxy, by its name where the machine has one. */
  readonly user: string | null;
  /** To which DNS queries are redirected; null: nothing says it. */
  readonly dnsPort: number | null;
};

/**
 * Prepares a run: this process becomes one of the user of the settings, and the Dataplane gets their ports.
 * @throws MeridianError `config` when this process cannot become the user, or the Dataplane says otherwise
 */
export async function prepareRun(
  { transparentProxy = false, transparentProxyConfig: file, user: named }: Options,
  { dataplane, workFolder }: Run,
): Promise<Prepared> {
  if (!transparentProxy) {
    if (file !== undefined || named !== undefined)
      throw new UsageError('--transparent-proxy-config and --user are for --transparent-proxy');
    return { dataplane, workFolder: workFolder(undefined), user: null, dnsPort: null };
  }
  if (dataplane === null)
    throw new UsageError(
      '--transparent-proxy is for --dataplane-file: a Dataplane that exists has its own networking.transparentProxying',
    );
  const settings = await fileSettings(file, named);
  const { becomeUser, makeUserFolder, proxyUser } = await import('../../redirect/proxy-user.ts');
  const { redirectedDataplane } = await import('../../redirect/redirected-dataplane.ts');
  const redirected = redirectedDataplane(dataplane, settings);
  const user = await proxyUser(settings);
  const folder = resolve(workFolder(user.home ?? undefined));
  if (process.getuid?.() === 0) {
    await warnOfRules(settings);
    await makeUserFolder(folder, user);
  }
  becomeUser(user);
  return { dataplane: redirected, workFolder: folder, user: user.name, dnsPort: settings.redirect.dns.port };
}

/** A proxy without its rules runs, and gets no connections. */
async function warnOfRules(settings: RedirectSettings): Promise<void> {
  const { redirectionState } = await import('../../redirect/redirection.ts');
  try {
    const states = await redirectionState(settings);
    if (states.every(({ firewalls }) => firewalls.length === 0))
      note('warning: nothing is redirected on this machine; `meridian install transparent-proxy` installs the rules');
  } catch (error) {
    note(`warning: it is not known what is redirected on this machine: ${messageOf(error)}`);
  }
}
