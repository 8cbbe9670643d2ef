// Exit codes for scripts. They are a contract: --help prints this table.
import { MeridianError } from '../base/errors.ts';

export const EXIT = {
  done: 0,
  failed: 1,
  usage: 2,
  notFound: 3,
  unreachable: 4,
  differs: 5,
  refusedByZone: 6,
  notAnswered: 7,
  away: 8,
} as const;

export const EXIT_HELP = `Exit codes:
  0  done
  1  refused or failed; the text says why and what to do
  2  the call was not understood: an unknown command, option, type or context
  3  the named resource or version does not exist
  4  the control plane cannot be reached, or cannot use its store now
  5  \`meridian diff\` found differences
  6  with --wait: a zone refused the change, or cannot read it
  7  with --wait: a connected zone has not answered in time
  8  with --wait: all connected zones have the change, and others are away`;

type Outcome = 'everywhere' | 'refused' | 'waiting' | 'away';

/** The code after a wait for zones: the worst of several changes. */
export function exitCodeOfRollouts(rollouts: readonly { readonly outcome: Outcome }[]): number {
  const has = (outcome: Outcome): boolean => rollouts.some((rollout) => rollout.outcome === outcome);
  if (has('refused')) return EXIT.refusedByZone;
  if (has('waiting')) return EXIT.notAnswered;
  return has('away') ? EXIT.away : EXIT.done;
}

/** The command is invalid: nothing was tried. */
export class UsageError extends MeridianError {
  constructor(message: string) {
    super('bad_request', message);
  }
}

export function exitCodeOf(error: unknown): number {
  if (error instanceof UsageError) return EXIT.usage;
  if (!(error instanceof MeridianError)) return EXIT.failed;
  if (error.code === 'not_found') return EXIT.notFound;
  return error.code === 'unavailable' ? EXIT.unreachable : EXIT.failed;
}
