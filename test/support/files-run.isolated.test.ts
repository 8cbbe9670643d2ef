// Which files of src a piece of work runs.
import { expect, it } from 'vitest';
import { hashName } from '../../src/resource/hash-name.ts';
import { namesOf } from '../../src/resource/stored-name.ts';
import { filesRun } from './files-run.ts';

it('filesRun lists the files of the functions that ran before the end', async () => {
  const work = async (end: () => void): Promise<void> => {
    await Promise.resolve();
    hashName({ mesh: 'm', name: 'n' });
    end();
    namesOf('a', 'b');
  };
  expect(await filesRun(work)).toEqual(['resource/hash-name.ts']);
  expect(await filesRun(() => work(() => undefined))).toEqual(['resource/hash-name.ts', 'resource/stored-name.ts']);
});
