// Each field that a user may write has a text, and each text has a field.
import { describe, expect, it } from 'vitest';
import { planOf, type MessagePlan } from '../wire/message-plan.ts';
import { resourceTypes } from '../resource/type-registry.ts';
import { fieldsWithText } from './message-texts.ts';

function fieldsOf(plan: MessagePlan, into: Set<string>): void {
  if (plan.wellKnown !== null) return;
  for (const { jsonName, value } of plan.fields) {
    const field = `${plan.name} ${jsonName}`;
    if (into.has(field)) continue;
    into.add(field);
    if (value.kind === 'message') fieldsOf(value.message, into);
  }
}

describe('the protobuf types that users write', () => {
  const written = new Set<string>();
  for (const { codec, writers } of resourceTypes)
    if (codec.kind === 'proto' && writers !== 'none') fieldsOf(planOf(codec.message), written);

  it('have a text for each field, and no text without a field', () => {
    expect(fieldsWithText().sort()).toEqual([...written].sort());
  });
});
