// Parses the server-sent events of a watch. The iteration ends without an error when the caller stops; an interrupted stream is an
// error.
import { createParser } from 'eventsource-parser';
import { MeridianError, messageOf } from '../../base/errors.ts';

/** @property id where the server gives one: a stream that begins after it misses nothing */
export type ServerEvent = { readonly event: string; readonly data: unknown; readonly id?: string };

/** The limit of one event, in characters: a resource has at most a mebibyte. */
const MAX_EVENT = 8 * 1024 * 1024;

/** @property passedId the id of a block, with an event or without one */
type Block = ServerEvent | { readonly passedId: string };

type Reading = {
  /** It is called with each id in its place, also where the id has no event. */
  readonly onId?: ((id: string) => void) | undefined;
  /** The error for the last event of a stream that the server ends. */
  readonly failed: (status: number, body: unknown) => MeridianError;
};

/**
 * Events with data, in order, without comments.
 * @throws MeridianError `unavailable` when the stream ends without an abort, or the last error of the server
 */
export async function* readEvents(
  stream: AsyncIterable<Buffer>,
  signal: AbortSignal,
  { onId, failed }: Reading,
): AsyncGenerator<ServerEvent> {
  const decoder = new TextDecoder();
  let parsed: Block[] = [];
  const parser = createParser({
    onId: (passedId) => parsed.push({ passedId }),
    onEvent: ({ event = 'message', data, id }) =>
      parsed.push({ event, data: JSON.parse(data) as unknown, ...(id !== undefined && { id }) }),
    maxBufferSize: MAX_EVENT,
  });
  try {
    for await (const part of stream) {
      parser.feed(decoder.decode(part, { stream: true }));
      const blocks = parsed;
      parsed = [];
      for (const event of blocks) {
        if ('passedId' in event) {
          onId?.(event.passedId);
          continue;
        }
        if (event.event === 'error') throw failed((event.data as { status?: number }).status ?? 0, event.data);
        yield event;
      }
    }
  } catch (error) {
    if (signal.aborted) return;
    if (error instanceof MeridianError) throw error;
    throw new MeridianError('unavailable', `the watch broke off (${messageOf(error)})`, { cause: error });
  }
  if (!signal.aborted) throw new MeridianError('unavailable', 'the control plane ended the watch');
}
