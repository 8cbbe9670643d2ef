// A call of a zone that a test makes, and what it is answered.
import { EventEmitter } from 'node:events';
import { Metadata, status } from '@grpc/grpc-js';
import type { StatusError } from '../../grpc/status.ts';

export class Call extends EventEmitter {
  readonly metadata = new Metadata();
  readonly said: string[] = [];
  cancelled = false;
  destroyed = false;

  constructor(headers: Readonly<Record<string, string>>) {
    super();
    for (const [name, value] of Object.entries(headers)) this.metadata.set(name, value);
    this.on('error', ({ code, details }: StatusError) => void this.said.push(`${status[code]}: ${details}`));
  }

  getPeer(): string {
    return 'address';
  }

  sendMetadata(metadata: Metadata): void {
    this.said.push(`features ${metadata.get('features').join(' ')}`);
  }

  end(): void {
    this.said.push('end');
  }
}
