// The certificates and keys that are sent to an Envoy. The texts that are refused are those that Envoy 1.40 refuses, and a few
// more.
import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { authoritiesProblem, certificateChainProblem, isKeyOf, privateKeyProblem } from './pem.ts';
import { createSelfSigned, type Certificate } from './self-signed.ts';

/** Self-signed, with an RSA key of 1024 bits. */
const WEAK = `-----BEGIN CERTIFICATE-----
MIIBnjCCAQegAwIBAgIBATANBgkqhkiG9w0BAQsFADAMMQowCAYDVQQDEwF4MB4X
DTI2MTEyNjIxMjUxOVoXDTI3MDMyMjE1MTE1OVowDDEKMAgGA1UEAxMBeDCBnzAN
BgkqhkiG9w0BAQEFAAOBjQAwgYkCgYEA1yfZBqXxpRdWvgl86X66mJCK8q7fimQJ
eNZ3FkCLNX1VMdWcLKjG4vYJNCZH3Yqv67+NCPmGMKnpJ/MqFRUczEiaTOHM35S1
hrLdTsvsSfF06KStFOIsYdNGvyV+5GnjiD1jlO3flXxHs4meQ3k8yJFmi9/882vM
XXrMu3ZGqYECAwEAAaMQMA4wDAYDVR0TBAUwAwEB/zANBgkqhkiG9w0BAQsFAAOB
gQA61Z6uI2Zzzt5lC8XRo40qoSjgF2BeNGrLXAYBv1JwI4hfiwJNkW4EArppZeRy
GJMLTL6GllJdkZasuGc5bwU+zxrsDntFS+kC3zP4CKZulIuGUTVmbCjsJAo3cVAC
rsB5o7XwhPaxtNTbvISPkvnxR1i4jIMLqu5paE8y1nR8kg==
-----END CERTIFICATE-----
`;

/** Self-signed, with a key of P-256 that gives the numbers of the curve. */
const EXPLICIT = `-----BEGIN CERTIFICATE-----
MIICZjCCAg2gAwIBAgIUbrSsR3fM/vBLe7Zyjdrg2wUgFd0wCgYIKoZIzj0EAwIw
DzENMAsGA1UEAwwEZXhwbDAeFw0yNjExMjcwMTA5MDNaFw0yNjEyMjcwMTA5MDNa
MA8xDTALBgNVBAMMBGV4cGwwggFLMIIBAwYHKoZIzj0CATCB9wIBATAsBgcqhkjO
PQEBAiEA/////wAAAAEAAAAAAAAAAAAAAAD///////////////8wWwQg/////wAA
AAEAAAAAAAAAAAAAAAD///////////////wEIFrGNdiqOpPns+u9VXaYhrxlHQaw
zFOw9jvOPD4n0mBLAxUAxJ02CIbnBJNqZnjhE50mt4GffpAEQQRrF9Hy4SxCR/i8
5uVjpEDydwN9gS3rM6D0oTlF2JjClk/jQuL+Gn+bjufrSnwPnhYrzjNXazFezsu2
QGg3v1H1AiEA/////wAAAAD//////////7zm+q2nF56E87nKwvxjJVECAQEDQgAE
xmKSH9AwSdUJGS8qmKrXQkVGwavI+O/wfuLVUw468hGSZpi2f7qRjxnvHLnmXQtg
YjCZyjqpl8+ie7VZ7NoNp6NTMFEwHQYDVR0OBBYEFC0dO3drIwxk6QB4qz8WZxIB
rTIcMB8GA1UdIwQYMBaAFC0dO3drIwxk6QB4qz8WZxIBrTIcMA8GA1UdEwEB/wQF
MAMBAf8wCgYIKoZIzj0EAwIDRwAwRAIga55ARmvytlN3PmijwErbdDiRtbN5DOAa
82AIEeDaZcQCIEZ5IwV+Dd2A/5qi7oeVoAjX4HM32a/syssscquBQ7L7
-----END CERTIFICATE-----
`;

let [one, other]: Certificate[] = [];
const certificate = (): string => one?.certPem ?? '';
const key = (): string => one?.keyPem ?? '';

beforeAll(async () => {
  [one, other] = await Promise.all([
    createSelfSigned('client', ['one'], new Date()),
    createSelfSigned('client', ['other'], new Date()),
  ]);
});

const broken = (pem: string): string => pem.replace(/\n[^\n]+\n/, '\nAAAA\n');

describe('certificates', () => {
  it.each<[what: string, of: (pem: string) => string]>([
    ['alone', (pem) => pem],
    ['between other texts', (pem) => `subject: x\n${pem}end\n`],
    ['twice', (pem) => pem + pem],
    ['without a last line end', (pem) => pem.trimEnd()],
    ['with the line ends of Windows', (pem) => pem.replaceAll('\n', '\r\n')],
    ['beside a key', (pem) => pem + key()],
  ])('can be read %s', (_, of) => {
    const text = of(certificate());
    expect([authoritiesProblem(text), certificateChainProblem(text)]).toEqual([null, null]);
  });

  it.each<[what: string, of: (pem: string) => string]>([
    ['nothing', () => ''],
    ['another text', () => 'no certificate'],
    ['a key', () => key()],
    ['a broken certificate', broken],
    ['a broken certificate behind a good one', (pem) => pem + broken(pem)],
    ['a certificate that is cut off', (pem) => pem + pem.slice(0, 200)],
    ['a certificate with another end', (pem) => pem.replace('END CERTIFICATE', 'END PRIVATE KEY')],
    ['an indented certificate', (pem) => pem.replaceAll(/^/gm, '  ')],
    ['a certificate behind a byte order mark', (pem) => `\ufeff${pem}`],
    ['a certificate with a comment inside', (pem) => pem.replace('\n', '\n# comment\n')],
    ['bytes without PEM', (pem) => Buffer.from(pem.replaceAll(/-----[^-]+-----/g, ''), 'base64').toString('latin1')],
  ])('cannot be read from %s', (_, of) => {
    const text = of(certificate());
    const reason = 'is not a certificate in PEM form';
    expect([authoritiesProblem(text), certificateChainProblem(text)]).toEqual([reason, reason]);
  });

  it('are not trusted beside a revocation list', () => {
    const list = '-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----\n';
    expect(authoritiesProblem(certificate() + list)).toBe('holds a revocation list, which is not supported');
  });

  it('with a weak key may be trusted, and are not shown', () => {
    expect(authoritiesProblem(WEAK)).toBeNull();
    expect(certificateChainProblem(WEAK)).toContain('RSA needs 2048 bits');
    expect(certificateChainProblem(certificate() + WEAK)).toBeNull();
  });

  it('with a key that gives the numbers of its curve are not shown', () => {
    expect(certificateChainProblem(EXPLICIT)).toContain('ECDSA a named curve');
  });
});

describe('a private key', () => {
  it('can be read with other texts around it', () => {
    expect([key(), `x\n${key()}y`, certificate() + key(), key().trimEnd()].map(privateKeyProblem)).toEqual([
      null,
      null,
      null,
      null,
    ]);
  });

  it('cannot be read with a passphrase, nor from another text', () => {
    const locked = createPrivateKey(key()).export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' });
    for (const text of ['', 'key', certificate(), broken(key()), String(locked)])
      expect(privateKeyProblem(text)).toBe('is not a private key in PEM form without a passphrase');
  });

  it('belongs to the first certificate of a chain', () => {
    const chain = certificate() + (other?.certPem ?? '');
    const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ type: 'pkcs1', format: 'pem' });
    expect([key(), other?.keyPem ?? '', String(rsa)].map((text) => isKeyOf(chain, text))).toEqual([true, false, false]);
  });
});
