// A process with one zone that attacks: begins when it is asked to, and goes on until it is ended.
import { Attacker, type Attack } from './attacks.ts';

export type AttackCommand = { readonly address: string; readonly zone: string; readonly attack: Attack };
/** `up`: ready for a command. `attacking`: the attack is on its way. */
export type AttackReport = 'up' | 'attacking';

function report(message: AttackReport): void {
  process.send?.(message);
}

process.on('SIGINT', () => undefined);
process.on('disconnect', () => process.exit(0));
process.once('message', ({ address, zone, attack }: AttackCommand) => {
  void new Attacker(zone, address).begin(attack).then(() => report('attacking'));
});
report('up');
