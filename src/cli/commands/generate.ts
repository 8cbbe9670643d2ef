// `meridian generate`: tokens and certificates.
import type { Command } from 'commander';
import { addGenerateTlsCertificate } from '../generate-tls-certificate.ts';
import { addGenerateTokens } from '../generate-tokens.ts';

export function addGenerateCommand(program: Command): void {
  const generate = program.command('generate').description('tokens and certificates');
  addGenerateTokens(generate);
  addGenerateTlsCertificate(generate);
}
