// Loaded into a process under test (`node --import`): at SIGUSR2 it collects garbage and prints what is left.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

process.on('SIGUSR2', () => {
  collect();
  process.stdout.write(`heap-used ${String(process.memoryUsage().heapUsed)}\n`);
});
