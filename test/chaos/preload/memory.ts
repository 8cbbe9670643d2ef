// Loaded into a process under test (`node --import`): at SIGUSR2 it collects garbage and prints the memory in use, on the heap and off.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

process.on('SIGUSR2', () => {
  collect();
  // A socket or a buffer that the first collection releases is closed in a later turn and collected by the next one.
  setTimeout(() => {
    collect();
    const { heapUsed, external } = process.memoryUsage();
    process.stdout.write(`memory-used ${String(heapUsed)} ${String(external)}\n`);
  }, 50);
});
