// Server-sent events of a watch: bytes → events. Ends quietly when the caller stops; a stream that breaks off is an error.
import { MeridianError, messageOf } from '../../base/errors.ts';
import { failedAnswer } from './failed-answer.ts';

export type ServerEvent = { readonly event: string; readonly data: unknown };

/**
 * Events with data, in order; comments are passed over.
 * @throws MeridianError `unavailable` when the stream ends without an abort, or the last error of the server
 */
export async function* readEvents(stream: AsyncIterable<Buffer>, signal: AbortSignal): AsyncGenerator<ServerEvent> {
  const decoder = new TextDecoder();
  let buffered = '';
  try {
    for await (const part of stream) {
      buffered += decoder.decode(part, { stream: true });
      const blocks = buffered.split('\n\n');
      buffered = blocks.pop() ?? '';
      for (const block of blocks) {
        const event = parseEvent(block);
        if (event?.event === 'error') throw failedAnswer((event.data as { status?: number }).status ?? 0, event.data, '');
        if (event !== null) yield event;
      }
    }
  } catch (error) {
    if (signal.aborted) return;
    if (error instanceof MeridianError) throw error;
    throw new MeridianError('unavailable', `the watch broke off (${messageOf(error)})`, { cause: error });
  }
  if (!signal.aborted) throw new MeridianError('unavailable', 'the control plane ended the watch');
}

/** One block of lines; null when it is a comment. */
export function parseEvent(block: string): ServerEvent | null {
  let event = 'message';
  const data: string[] = [];
  for (const line of block.split('\n')) {
    const [, field = '', value = ''] = /^(\w+):\s?(.*)$/s.exec(line) ?? [];
    if (field === 'event') event = value;
    else if (field === 'data') data.push(value);
  }
  return data.length === 0 ? null : { event, data: JSON.parse(data.join('\n')) as unknown };
}
