// Runs kumactl against one control plane.
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { inject } from 'vitest';
import { stringify } from 'yaml';
import type { JsonObject } from '../../src/resource/types.ts';
import type { ControlPlane } from '../support/control-plane.ts';
import { peerProgram } from './peers-folder.ts';

export class Kumactl {
  readonly #folder = mkdtempSync(join(tmpdir(), 'kumactl-'));
  readonly #plane: ControlPlane;

  private constructor(plane: ControlPlane) {
    this.#plane = plane;
  }

  /** Registers the control plane in a configuration file of its own. */
  static async of(plane: ControlPlane): Promise<Kumactl> {
    const kumactl = new Kumactl(plane);
    const address = `http://127.0.0.1:${String(plane.api)}`;
    await kumactl.run('config', 'control-planes', 'add', '--name', plane.command, '--address', address);
    return kumactl;
  }

  /** The standard output. @throws Error with the standard error when it fails */
  async run(...args: readonly string[]): Promise<string> {
    const config = join(this.#folder, 'config');
    const options = { maxBuffer: 64 * 1024 * 1024 };
    const { stdout } = await promisify(execFile)(
      peerProgram(inject('peersFolder'), 'kumactl'),
      ['--config-file', config, ...args],
      options,
    );
    return stdout;
  }

  /** Applies the documents as one file. */
  async apply(documents: readonly JsonObject[]): Promise<string> {
    const file = join(this.#folder, 'documents.yaml');
    writeFileSync(file, documents.map((document) => stringify(document)).join('---\n'));
    return await this.run('apply', '-f', file);
  }

  /** Removes its configuration. */
  close(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }

  get plane(): ControlPlane {
    return this.#plane;
  }
}
