// Templates of hostnames and SPIFFE IDs: the syntax of actions, and the limits.
import { fc } from '../../../test/support/property.ts';
import { describe, expect, it } from 'vitest';
import { MAX_TEMPLATE, renderTemplate, replaceActions } from './go-template.ts';

const actionsIn = (template: string): string[] => {
  const actions: string[] = [];
  replaceActions(template, (action) => {
    actions.push(action);
    return '';
  });
  return actions;
};

describe('an action', () => {
  it.each<[string, string[], string]>([
    ['a.b', [], 'a.b'],
    ['{{ .Name }}.mesh', ['.Name'], '<>.mesh'],
    ['{{.Name}}.{{ label "a" }}', ['.Name', 'label "a"'], '<>.<>'],
    ['{{- .Name -}}', ['.Name'], '<>'],
    ['{{}}', [''], '<>'],
    ['{{-}}', [''], '<>'],
    ['{{--}}', [''], '<>'],
    ['{{{ .Name }}}', ['.Name'], '{<>}'],
    ['{{ a {{ .Name }}', ['.Name'], '{{ a <>'],
    ['{{ a } }}', [], '{{ a } }}'],
    ['{{ a', [], '{{ a'],
    ['a }} b', [], 'a }} b'],
  ])('of %j', (template, actions, text) => {
    expect(actionsIn(template)).toEqual(actions);
    expect(replaceActions(template, () => '<>')).toBe(text);
  });

  it('equals the matches of a regular expression', () => {
    const piece = fc.constantFrom('{', '}', '{{', '}}', '-', ' ', '.Name', 'a');
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 14 }), (pieces) => {
        const template = pieces.join('');
        const expected = template.replace(/(?:\{\{-|\{\{)([^{}]*?)(?:-\}\}|\}\})/g, (_, action: string) => `<${action.trim()}>`);
        expect(replaceActions(template, (action) => `<${action}>`)).toBe(expected);
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('a template', () => {
  const values = { fields: { Name: 'cart' }, labels: { long: 'x'.repeat(1_000) } };

  it('over the length limit renders nothing', () => {
    expect(renderTemplate('x'.repeat(MAX_TEMPLATE), values)).toHaveProperty('text');
    expect(renderTemplate('x'.repeat(MAX_TEMPLATE + 1), values)).toEqual({
      error: 'the template is longer than 2048 characters',
    });
  });

  it('whose output exceeds the limit renders nothing', () => {
    expect(renderTemplate('{{ label "long" }}'.repeat(4), values)).toHaveProperty('text');
    expect(renderTemplate('{{ label "long" }}'.repeat(100), values)).toEqual({
      error: 'the text is longer than 4096 characters',
    });
  });
});
