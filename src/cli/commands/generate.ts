// `meridian generate`: tokens, the keys that sign them, and certificates.
import type { Command } from 'commander';
import { addGenerateKeys } from './generate-keys.ts';
import { addGenerateTlsCertificate } from './generate-tls-certificate.ts';
import { addGenerateTokens } from './generate-tokens.ts';

export function addGenerateCommand(program: Command): void {
  const generate = program.command('generate').description('tokens, the keys that sign them, and certificates');
  addGenerateTokens(generate);
  addGenerateKeys(generate);
  addGenerateTlsCertificate(generate);
}
