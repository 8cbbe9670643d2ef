// A copy of the repository as it lies on the disk, where files are changed and tests run. The developer's files stay as they are.
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export class Copy implements Disposable {
  readonly folder = mkdtempSync(join(tmpdir(), 'meridian-mutation-'));

  constructor(top: string) {
    const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: top });
    for (const file of listed.toString().split('\0'))
      if (file !== '' && existsSync(join(top, file))) cpSync(join(top, file), join(this.folder, file));
    symlinkSync(join(top, 'node_modules'), join(this.folder, 'node_modules'));
  }

  read(file: string): string {
    return readFileSync(join(this.folder, file), 'utf8');
  }

  write(file: string, text: string): void {
    writeFileSync(join(this.folder, file), text);
  }

  [Symbol.dispose](): void {
    // A process of the run may still write its last file.
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 10 });
  }
}
