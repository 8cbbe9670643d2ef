// Text from a peer cannot imitate a line about another zone.
import { describe, expect, it } from 'vitest';
import { fc } from '../../../test/support/property.ts';
import { describeSync } from './sync-text.ts';
import { problemLines } from './overview-columns.ts';
import { table } from './table.ts';

const FORGED = 'west → global: Mesh refused: all';
const text = fc
  .array(fc.oneof(fc.string({ maxLength: 4 }), fc.constantFrom('\n', '\r\n', '\n\n', `\n${FORGED}`, `\n${FORGED}\n`)), {
    maxLength: 5,
  })
  .map((parts) => parts.join(''));

describe('a text of a peer', () => {
  it('cannot start a line in the problems of a zone', () => {
    fc.assert(
      fc.property(text, text, text, text, (type, resource, message, warning) => {
        const problem = { stream: 'zoneToGlobal', type, kind: 'refused', resources: [resource], count: 1, message };
        const item = { type: 'ZoneOverview', name: 'east', syncProblems: [problem], warnings: [`zone east: ${warning}`] };
        const lines = problemLines(item).join('\n').split('\n');
        const own = lines.filter((line) => line !== '' && !line.startsWith('  '));
        expect(own.map((line) => line.split(':')[0])).toEqual(['east → global', 'zone east']);
      }),
    );
  });

  it('cannot add a row to a table', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(text, text), { maxLength: 4 }), (rows) => {
        expect(table(['NAME', 'WHY'], rows).split('\n')).toHaveLength(rows.length + 1);
      }),
    );
  });

  it('cannot add a line to the output of explain-sync', () => {
    fc.assert(
      fc.property(text, text, (reason, message) => {
        const target = { to: 'east', isSent: false, reason, name: null, problem: { kind: 'refused', message } };
        const sync = {
          resource: { type: 'Mesh', mesh: '', name: 'm', labels: {} },
          storedName: 'm',
          from: 'global',
          targets: [target],
        };
        const lines = describeSync(sync).split('\n');
        expect(lines).not.toContain(FORGED);
        expect(lines.filter((line) => /^(east|west)\b/.test(line)).length).toBe(2);
      }),
    );
  });
});
