// Loaded into a process under test (`node --import`): its date and its elapsed time run HURRY times as fast as the machine's, and its
// sleeps are that much shorter, so that a test sees tasks of every few minutes within seconds.
import { syncBuiltinESMExports } from 'node:module';
import timers from 'node:timers/promises';

const hurry = Number(process.env['HURRY']);
const RealDate = Date;
const began = RealDate.now();
const sleep = timers.setTimeout;

class HurriedDate extends RealDate {
  constructor(...args: [] | [number | string | Date]) {
    if (args.length === 0) super(HurriedDate.now());
    else super(...(args as [number]));
  }

  static override now(): number {
    return began + (RealDate.now() - began) * hurry;
  }
}

globalThis.Date = HurriedDate as DateConstructor;
const elapsed = performance.now.bind(performance);
performance.now = () => elapsed() * hurry;
timers.setTimeout = ((ms: number, ...rest: [unknown?, object?]) => sleep(ms / hurry, ...rest)) as typeof sleep;
syncBuiltinESMExports();
