// The types of which the receiver of a stream has every resource, as bare names: no response follows, and no answer is awaited.
// One message names many types, between Meridian peers (decision 83).
import { readText } from './fields.ts';
import { repeatedField } from './repeated-field.ts';

export const {
  encode: encodeInStep,
  isIn: isInStep,
  decode: decodeInStep,
} = repeatedField<string>(1001, 'a list of types in step', (writer, type) => writer.string(type.toWellFormed()), readText);
