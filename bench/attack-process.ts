// A process with one zone that attacks: begins when it is asked to, and goes on until it is ended.
import { Attacker, type Attack } from './attacks.ts';
import { takeCommands } from './commands.ts';

export type AttackCommand = { readonly address: string; readonly zone: string; readonly attack: Attack };

takeCommands(async ({ address, zone, attack }: AttackCommand) => {
  await new Attacker(zone, address).begin(attack);
  return 'attacking';
});
