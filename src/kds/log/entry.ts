// The latest state of a resource for peers: encoded once and shared by all. A second form for peers that cannot read this one is
// encoded when such a peer first needs it (D26, D28; engine 16).
import { decodeKumaResource, encodeKumaResource, wireVersion, type WireResource } from '../../resource/codec.ts';
import { toKumaForm } from '../../validation/kuma-form.ts';
import type { TypeInfo } from '../../resource/type-registry.ts';
import type { Mode } from '../../resource/types.ts';
import { decodeDeltaResponse, encodeResourceEntry } from '../../wire/kds-messages.ts';
import { feature } from '../protocol/features.ts';
import type { Visibility } from '../protocol/rules.ts';

/**
 * `native`: unchanged, for Meridian peers. `kuma`: translated to the fields that Kuma accepts. `legacy`: the same under the name
 * without a hash, for peers without `hash-suffix`.
 */
export type Form = 'native' | 'kuma' | 'legacy';

/** The form for a peer with these features, of resources that leave a side of this mode (D28). */
export function formFor(features: ReadonlySet<string>, from: Mode): Form {
  if (features.has(feature.meridian)) return 'native';
  return from === 'zone' || features.has(feature.hashSuffix) ? 'kuma' : 'legacy';
}

export type Encoding = {
  /** SHA-256 of the KumaResource, lowercase hex (kds-wire 2.3). */
  readonly version: string;
  /** A `Resource` as field 2 of a response, tag and length included. */
  readonly bytes: Uint8Array;
};

/** The reason why peers of a form cannot have the resource. */
export type Withheld = { readonly withheld: string };

export type Entry = {
  readonly visibility: Visibility;
  /** The version of the native form. */
  readonly version: string;
  /** The resource in a form. It never throws: a resource without this form is withheld from the peers that need it. */
  readonly in: (form: Form) => Encoding | Withheld;
};

/** Decides which resources one peer sees, and in which form. */
export type PeerView = {
  readonly canSee: (entry: Entry) => boolean;
  readonly form: Form;
  /**
   * The limit in bytes of resources and names that fit into a message. A larger resource must not delay the others of its type.
   */
  readonly largestBytes: number;
};

/** The bytes of a resource for a peer, or why it cannot read them. Null if it must not see the resource. */
export function encodingFor({ canSee, form, largestBytes }: PeerView, entry: Entry | null): Encoding | Withheld | null {
  if (entry === null || !canSee(entry)) return null;
  const encoding = entry.in(form);
  if ('withheld' in encoding || encoding.bytes.length <= largestBytes) return encoding;
  return { withheld: `it has ${String(encoding.bytes.length)} bytes; a message to this peer takes ${String(largestBytes)}` };
}

export class EncodedEntry implements Entry, Encoding {
  readonly visibility: Visibility;
  readonly version: string;
  readonly bytes: Uint8Array;
  readonly #info: TypeInfo;
  readonly #plainName: string;
  #kuma: Encoding | Withheld | null = null;
  #legacy: Encoding | Withheld | null = null;

  /**
   * @param resource the resource under its wire name
   * @param plainName its name for peers without `hash-suffix`
   * @throws ProtoJsonError when the spec of a protobuf type does not fit its message
   */
  constructor(info: TypeInfo, resource: WireResource, plainName: string, visibility: Visibility) {
    const { version, bytes } = encode(info, resource);
    this.visibility = visibility;
    this.version = version;
    this.bytes = bytes;
    this.#info = info;
    this.#plainName = plainName;
  }

  in(form: Form): Encoding | Withheld {
    if (form === 'native') return this;
    if (form === 'kuma') return (this.#kuma ??= this.#translate(null));
    return (this.#legacy ??= this.#translate(this.#plainName));
  }

  #translate(name: string | null): Encoding | Withheld {
    try {
      // The bytes are a valid response with this one resource.
      const kumaResource = decodeDeltaResponse(this.bytes).resources[0]?.resource ?? new Uint8Array();
      const native = decodeKumaResource(this.#info, kumaResource);
      const translated = toKumaForm(this.#info, native);
      if ('withheld' in translated) return translated;
      const { resource } = translated;
      if (name === null) return resource === native ? this : encode(this.#info, resource);
      return encode(this.#info, { ...resource, name });
    } catch (error) {
      return { withheld: error instanceof Error ? error.message : String(error) };
    }
  }
}

/** A resource that cannot be encoded in any form. It is withheld from every peer. */
export class WithheldEntry implements Entry {
  readonly visibility: Visibility;
  readonly version: string;
  readonly #withheld: Withheld;

  constructor(visibility: Visibility, reason: string) {
    this.visibility = visibility;
    this.version = `withheld: ${reason}`;
    this.#withheld = { withheld: reason };
  }

  in(): Withheld {
    return this.#withheld;
  }
}

/**
 * A copy in its own buffer. The encoder takes its results from slabs that it shares with short-lived data, and an entry lives as long
 * as its resource. 20,000 entries kept 164 MB of slabs alive; as copies they have 49 MB.
 */
function owned(bytes: Uint8Array): Uint8Array {
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  copy.set(bytes);
  return copy;
}

function encode(info: TypeInfo, resource: WireResource): Encoding {
  const kumaResource = encodeKumaResource(info, resource);
  const version = wireVersion(kumaResource);
  return { version, bytes: owned(encodeResourceEntry({ name: `${resource.name}.${resource.mesh}`, version, kumaResource })) };
}
