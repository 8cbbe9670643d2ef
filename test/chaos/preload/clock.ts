// Loaded into a process under test (`node --import`): its wall clock differs from the machine's by CLOCK_SHIFT_MS.
const shift = Number(process.env['CLOCK_SHIFT_MS']);
const RealDate = Date;

class ShiftedDate extends RealDate {
  constructor(...args: [] | [number | string | Date]) {
    if (args.length === 0) super(RealDate.now() + shift);
    else super(...(args as [number]));
  }

  static override now(): number {
    return RealDate.now() + shift;
  }
}

globalThis.Date = ShiftedDate as DateConstructor;
