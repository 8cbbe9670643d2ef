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

export type ScannedResource = { readonly name: string; readonly version: string };

/** Of a DeltaDiscoveryResponse all but the resources themselves. */
export function scanResources(bytes: Buffer): {
  readonly typeUrl: string;
  readonly nonce: string;
  readonly resources: readonly ScannedResource[];
  readonly removed: readonly string[];
} {
  let typeUrl = '';
  let nonce = '';
  const resources: ScannedResource[] = [];
  const removed: string[] = [];
  eachField(bytes, (field, from, to) => {
    if (field === 2) resources.push(scanResource(bytes, from, to));
    else if (field === 4) typeUrl = bytes.toString('latin1', from, to);
    else if (field === 5) nonce = bytes.toString('latin1', from, to);
    else if (field === 6) removed.push(bytes.toString('latin1', from, to));
  });
  return { typeUrl, nonce, resources, removed };
}

function scanResource(bytes: Buffer, start: number, end: number): ScannedResource {
  let name = '';
  let version = '';
  eachField(
    bytes,
    (field, from, to) => {
      if (field === 1) version = bytes.toString('latin1', from, to);
      else if (field === 3) name = bytes.toString('latin1', from, to);
    },
    start,
    end,
  );
  return { name, version };
}

/** The messages hold length-delimited fields alone. */
function eachField(bytes: Buffer, visit: (field: number, from: number, to: number) => void, start = 0, end = bytes.length): void {
  let at = start;
  const varint = (): number => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = bytes[at++];
      if (byte === undefined) throw new Error('a message was cut');
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < end) {
    const tag = varint();
    if ((tag & 7) !== 2) throw new Error(`field ${String(tag >>> 3)} is not length-delimited`);
    const length = varint();
    visit(tag >>> 3, at, at + length);
    at += length;
  }
}
