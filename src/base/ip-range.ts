// Ranges of IP addresses, as numbers. Pure.
import { isIP } from 'node:net';

export type IpRange = {
  readonly version: 4 | 6;
  /** The first address. */
  readonly first: bigint;
  /** The number of leading bits that all addresses of the range share. */
  readonly bits: number;
};

const LENGTH = { 4: 32, 6: 128 } as const;

/** The range of a CIDR (`10.0.0.0/8`), or that of one address; null for another text. Bits behind the prefix do not count. */
export function parseIpRange(text: string): IpRange | null {
  const [address = '', written, ...rest] = text.split('/');
  const version = isIP(address);
  if ((version !== 4 && version !== 6) || rest.length > 0 || address.includes('%')) return null;
  const length = LENGTH[version];
  if (written !== undefined && !/^\d{1,3}$/.test(written)) return null;
  const bits = written === undefined ? length : Number(written);
  if (bits > length) return null;
  const free = BigInt(length - bits);
  return { version, first: (numberOf(address, version) >> free) << free, bits };
}

/** Whether every address of `inner` is in `outer`. */
export function containsRange(outer: IpRange, inner: IpRange): boolean {
  if (outer.version !== inner.version || outer.bits > inner.bits) return false;
  const free = BigInt(LENGTH[outer.version] - outer.bits);
  return inner.first >> free === outer.first >> free;
}

/** The first address of a range, as text in its usual form. */
export function firstAddress({ version, first }: IpRange): string {
  if (version === 4) return parts(first, 4, 8n).join('.');
  const groups = parts(first, 8, 16n).map((group) => group.toString(16));
  return new URL(`http://[${groups.join(':')}]/`).hostname.slice(1, -1);
}

/** The CIDR of a range: the same text for the same range. */
export function rangeText(range: IpRange): string {
  return `${firstAddress(range)}/${String(range.bits)}`;
}

/** The IPv4-mapped form of an IPv4 address, as `::ffff:f100:1` of 241.0.0.1; null for another text. */
export function mappedAddress(address: string): string | null {
  if (isIP(address) !== 4) return null;
  const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number);
  return `::ffff:${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
}

function parts(address: bigint, count: number, width: bigint): bigint[] {
  return Array.from({ length: count }, (_, at) => (address >> (BigInt(count - 1 - at) * width)) & ((1n << width) - 1n));
}

function numberOf(address: string, version: 4 | 6): bigint {
  if (version === 4) return joined(address.split('.').map(BigInt), 8n);
  // The usual form has no IPv4 part at its end.
  const usual = new URL(`http://[${address}]/`).hostname.slice(1, -1);
  const [head = '', tail] = usual.split('::');
  const groups = [head, tail].map((half) => (half === undefined || half === '' ? [] : half.split(':')));
  const [before = [], after = []] = groups;
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => '0');
  return joined(
    [...before, ...zeros, ...after].map((group) => BigInt(`0x${group}`)),
    16n,
  );
}

function joined(values: readonly bigint[], width: bigint): bigint {
  return values.reduce((sum, value) => (sum << width) | value, 0n);
}
