// The log of an Envoy as lines of ours. Pure.

type EnvoyLogLine = {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  /** The part of Envoy that speaks, such as `upstream`; `''` for a line of another form. */
  readonly component: string;
  readonly text: string;
};

/** Arguments that make Envoy write lines that `readLogLine` reads, each message on one line. */
export const LOG_FORMAT = ['--log-format', '%l|%n|%v', '--log-format-escaped'];
const MAX_TEXT = 8_192;

const LEVELS: ReadonlyMap<string, EnvoyLogLine['level']> = new Map([
  ['trace', 'debug'],
  ['debug', 'debug'],
  ['info', 'info'],
  ['warning', 'warn'],
  ['error', 'error'],
  ['critical', 'error'],
]);

/** Lines of another form come from before the log is set up, as for a wrong argument: they are warnings. */
export function readLogLine(line: string): EnvoyLogLine {
  const [name = '', component = '', ...text] = line.split('|');
  const level = LEVELS.get(name);
  if (level === undefined || text.length === 0) return { level: 'warn', component: '', text: line.slice(0, MAX_TEXT) };
  return { level, component, text: withoutPercents(text.join('|').slice(0, MAX_TEXT)) };
}

/** The reason that ended a stream is a gRPC message, which Envoy repeats with percent signs in place of spaces and others. */
function withoutPercents(text: string): string {
  return text.replaceAll(/(?:%[0-9A-F]{2})+/g, (encoded) => {
    try {
      return decodeURIComponent(encoded);
    } catch {
      return encoded;
    }
  });
}
