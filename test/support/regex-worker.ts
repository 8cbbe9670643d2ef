// Runs one regular expression on one text at a time and answers with its CPU time, which does not depend on other work on the
// machine. Its first message means that it is ready.
import { parentPort } from 'node:worker_threads';

type Attack = { readonly source: string; readonly flags: string; readonly text: string };

parentPort?.postMessage('ready');
parentPort?.on('message', ({ source, flags, text }: Attack) => {
  const regex = new RegExp(source, flags.replace('g', ''));
  const before = process.threadCpuUsage();
  regex.test(text);
  const { user, system } = process.threadCpuUsage(before);
  parentPort?.postMessage((user + system) / 1_000);
});
