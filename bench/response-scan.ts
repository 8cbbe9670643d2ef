// Reads of a DeltaDiscoveryResponse what a fake zone needs and skips the rest: type, nonce, and how many resources it brings.
export type Scanned = { readonly type: string; readonly nonce: string; readonly resources: number };

export function scanResponse(bytes: Buffer): Scanned {
  let type = '';
  let nonce = '';
  let resources = 0;
  eachField(bytes, (field, from, to) => {
    if (field === 2) resources += 1;
    else if (field === 4) type = bytes.toString('utf8', from, to);
    else if (field === 5) nonce = bytes.toString('utf8', from, to);
  });
  return { type, nonce, resources };
}

/** Type and nonce of a DeltaDiscoveryRequest. */
export function scanRequest(bytes: Buffer): { readonly type: string; readonly nonce: string } {
  let type = '';
  let nonce = '';
  eachField(bytes, (field, from, to) => {
    if (field === 2) type = bytes.toString('utf8', from, to);
    else if (field === 6) nonce = bytes.toString('utf8', from, to);
  });
  return { type, nonce };
}

/** Both messages hold length-delimited fields alone. */
function eachField(bytes: Buffer, visit: (field: number, from: number, to: number) => void): void {
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = bytes[at++];
      if (byte === undefined) throw new Error('a message was cut');
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < bytes.length) {
    const tag = varint();
    if ((tag & 7) !== 2) throw new Error(`field ${String(tag >>> 3)} is not length-delimited`);
    const length = varint();
    visit(tag >>> 3, at, at + length);
    at += length;
  }
}
