// google.rpc.Status as it stands in `error_detail` of a NACK ⇄ bytes (kds-wire 1).
import { decodeAny, writeAny, type Any } from './any.ts';
import { lengthTag, readFields, readText, writeText, type Writer } from './fields.ts';

export type ErrorDetail = { readonly code: number; readonly message: string; readonly details: readonly Any[] };

const CODE = 1 << 3;

/** Appends field `field` that holds the Status. */
export function writeErrorDetail(writer: Writer, field: number, { code, message, details }: ErrorDetail): void {
  writer.uint32(lengthTag(field)).fork();
  if (code !== 0) writer.uint32(CODE).int32(code);
  writeText(writer, 2, message);
  for (const detail of details) writeAny(writer, 3, detail);
  writer.ldelim();
}

/** Decodes a Status. @throws Error on bytes that are none */
export function decodeErrorDetail(bytes: Uint8Array): ErrorDetail {
  let code = 0;
  let message = '';
  const details: Any[] = [];
  readFields(bytes, (tag, reader) => {
    if (tag === CODE) code = reader.int32();
    else if (tag === lengthTag(2)) message = readText(reader);
    else if (tag === lengthTag(3)) details.push(decodeAny(reader.bytes()));
    else return false;
    return true;
  });
  return { code, message, details };
}
