// A process that keeps some connections to a REST API busy and measures each answer. It reads of an answer no more than
// status and length, as a load generator does, so that it takes little of the machine that it shares with the server.
import { connect } from 'node:net';
import { takeCommands } from './commands.ts';
import { nowMs, percentile } from './measure.ts';
import { MESH, policyBody, policyPath } from './policies.ts';

export type LoadCommand = {
  readonly kind: 'put' | 'get' | 'page';
  readonly port: number;
  readonly connections: number;
  readonly resources: number;
  readonly warmUpSeconds: number;
  readonly seconds: number;
};
export type LoadReport = {
  readonly perSecond: number;
  readonly p99Ms: number;
  /** All answers, those of the warm-up too. */
  readonly answers: number;
  /** From the first request to the thousandth answer, warm-up or not. */
  readonly firstThousandPerSecond: number;
};

let asked = 0;

function nextRequest({ kind, resources }: LoadCommand): string {
  const index = asked++ % resources;
  const head = 'Host: 127.0.0.1\r\n';
  if (kind === 'page') return `GET /meshes/${MESH}/meshtimeouts?size=100 HTTP/1.1\r\n${head}\r\n`;
  if (kind === 'get') return `GET ${policyPath(index)} HTTP/1.1\r\n${head}\r\n`;
  const body = policyBody(index, asked);
  return `PUT ${policyPath(index)} HTTP/1.1\r\n${head}Content-Type: application/json\r\nContent-Length: ${String(body.length)}\r\n\r\n${body}`;
}

/** Asks one thing after the other on one connection until `until`; calls `onAnswer` with the milliseconds of each. */
async function drive(command: LoadCommand, until: number, onAnswer: (milliseconds: number) => void): Promise<void> {
  const socket = connect({ host: '127.0.0.1', port: command.port, noDelay: true });
  await new Promise<void>((resolve, reject) => {
    let sentAt = 0;
    let head = '';
    /** Bytes of the answer that are still to come; null while its head is not read whole. */
    let left: number | null = null;
    const ask = (): void => {
      sentAt = nowMs();
      if (sentAt >= until) {
        socket.end();
        resolve();
      } else socket.write(nextRequest(command));
    };
    socket.on('connect', ask);
    socket.on('error', reject);
    socket.on('close', () => reject(new Error('the server closed a connection')));
    socket.on('data', (bytes) => {
      if (left === null) {
        head += bytes.toString('latin1');
        const end = head.indexOf('\r\n\r\n');
        if (end < 0) return;
        const length = /^content-length: (\d+)/im.exec(head.slice(0, end))?.[1];
        if (!/^HTTP\/1\.1 20/.test(head) || length === undefined) {
          reject(new Error(`unexpected answer: ${head.slice(0, 500)}`));
          return;
        }
        left = end + 4 + Number(length) - head.length;
      } else left -= bytes.length;
      if (left > 0) return;
      onAnswer(nowMs() - sentAt);
      head = '';
      left = null;
      ask();
    });
  });
}

async function load(command: LoadCommand): Promise<LoadReport> {
  const began = nowMs();
  const from = began + command.warmUpSeconds * 1000;
  const until = from + command.seconds * 1000;
  const latencies: number[] = [];
  let answers = 0;
  let thousandAt = NaN;
  const onAnswer = (milliseconds: number): void => {
    answers += 1;
    if (answers === 1_000) thousandAt = nowMs();
    if (nowMs() >= from) latencies.push(milliseconds);
  };
  await Promise.all(Array.from({ length: command.connections }, () => drive(command, until, onAnswer)));
  const firstThousandPerSecond = 1_000_000 / (thousandAt - began);
  return { perSecond: latencies.length / command.seconds, p99Ms: percentile(latencies, 0.99), answers, firstThousandPerSecond };
}

takeCommands(load);
