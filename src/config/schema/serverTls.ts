import { z } from 'zod';
import { isOfTls13 } from '../../model/index.ts';
import { certificate, choice, fields, keyExchangeGroups, keyFile, parsed } from '../../schema/index.ts';

/**
 * The name of rustls and the RFCs → the name of OpenSSL. Suites without forward secrecy or AEAD are not offered.
 */
const suites: Readonly<Record<string, string>> = {
  TLS_AES_256_GCM_SHA384: 'TLS_AES_256_GCM_SHA384',
  TLS_AES_128_GCM_SHA256: 'TLS_AES_128_GCM_SHA256',
  TLS_CHACHA20_POLY1305_SHA256: 'TLS_CHACHA20_POLY1305_SHA256',
  TLS13_AES_256_GCM_SHA384: 'TLS_AES_256_GCM_SHA384',
  TLS13_AES_128_GCM_SHA256: 'TLS_AES_128_GCM_SHA256',
  TLS13_CHACHA20_POLY1305_SHA256: 'TLS_CHACHA20_POLY1305_SHA256',
  TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384: 'ECDHE-ECDSA-AES256-GCM-SHA384',
  TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256: 'ECDHE-ECDSA-AES128-GCM-SHA256',
  TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256: 'ECDHE-ECDSA-CHACHA20-POLY1305',
  TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384: 'ECDHE-RSA-AES256-GCM-SHA384',
  TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256: 'ECDHE-RSA-AES128-GCM-SHA256',
  TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256: 'ECDHE-RSA-CHACHA20-POLY1305',
};

/** The set that holds where nothing is said. */
export const usualSuites: readonly string[] = [...new Set(Object.values(suites))];

const cipherSuites = z
  .array(
    parsed('a cipher suite with forward secrecy, such as TLS_AES_256_GCM_SHA384', (text) =>
      Object.hasOwn(suites, text) ? suites[text] : Object.values(suites).includes(text) ? text : undefined,
    ),
  )
  .min(1, { error: 'expected at least one cipher suite' })
  .optional()
  .describe('Cipher suites to accept, the best first; those with forward secrecy by default.');

const versions = { TLS_V1_2: 'TLSv1.2', TLS_V1_3: 'TLSv1.3' } as const;

const version = parsed('TLS_V1_2 or TLS_V1_3', (text): 'TLSv1.2' | 'TLSv1.3' | undefined => {
  if (text === 'TLS_V1_0' || text === 'TLS_V1_1')
    throw new Error('is not spoken any more (RFC 8996): expected TLS_V1_2 or TLS_V1_3');
  return text === 'TLS_V1_2' || text === 'TLS_V1_3' ? versions[text] : undefined;
});
const minVersion = version.optional().describe('The oldest version of TLS; TLS_V1_2 by default.');
const maxVersion = version.optional().describe('The newest version of TLS; TLS_V1_3 by default.');

interface Versions {
  readonly least?: 'TLSv1.2' | 'TLSv1.3' | undefined;
  readonly most?: 'TLSv1.2' | 'TLSv1.3' | undefined;
}

const inOrder = ({ least, most }: Versions): boolean => !(least === 'TLSv1.3' && most === 'TLSv1.2');

/** Without a suite for one of the versions, or without a version, every handshake would fail. */
export const haveSuite = ({ least, most }: Versions, chosen: readonly string[] = usualSuites): boolean =>
  (most !== 'TLSv1.2' && chosen.some(isOfTls13)) || (least !== 'TLSv1.3' && !chosen.every(isOfTls13));

const noSuite = 'none of them belongs to a version of TLS that is allowed';

/** `tls` of a listener or gateway. */
export const serverTls = fields(
  {
    mode: choice(['static'], ['dynamicCa'])
      .optional()
      .describe('static, the default: the certificate is a file.'),
    cert: certificate.describe('Certificate with its chain, as a PEM file or text.'),
    key: keyFile.describe('File with the private key of `cert`.'),
    root: certificate
      .optional()
      .describe('Authorities of client certificates; with it every client must show one (mTLS).'),
    cipherSuites,
    minTLSVersion: minVersion,
    minTlsVersion: version.optional().describe('The same as minTLSVersion.'),
    maxTLSVersion: maxVersion,
    maxTlsVersion: version.optional().describe('The same as maxTLSVersion.'),
    keyExchangeGroups,
  },
  ['spiffe'],
)
  .superRefine((tls, context) => {
    const issue = (path: string, message: string): void =>
      context.addIssue({ code: 'custom', path: [path], message });
    if (tls.minTLSVersion !== undefined && tls.minTlsVersion !== undefined)
      issue('minTlsVersion', 'is the same field as minTLSVersion: keep one of them');
    if (tls.maxTLSVersion !== undefined && tls.maxTlsVersion !== undefined)
      issue('maxTlsVersion', 'is the same field as maxTLSVersion: keep one of them');
    const least = tls.minTLSVersion ?? tls.minTlsVersion;
    const most = tls.maxTLSVersion ?? tls.maxTlsVersion;
    if (!inOrder({ least, most }))
      issue(
        tls.maxTLSVersion === undefined ? 'maxTlsVersion' : 'maxTLSVersion',
        'is older than the oldest version allowed',
      );
    else if (!haveSuite({ least, most }, tls.cipherSuites)) issue('cipherSuites', noSuite);
  })
  .meta({ id: 'tls' });

/** `frontendPolicies.tls`: what holds for listeners that say nothing else. */
export const frontendTlsFields = {
  minVersion,
  maxVersion,
  cipherSuites,
  keyExchangeGroups,
};

interface FrontendVersions {
  readonly minVersion?: Versions['least'];
  readonly maxVersion?: Versions['most'];
}

export const frontendVersionsInOrder = ({ minVersion: least, maxVersion: most }: FrontendVersions): boolean =>
  inOrder({ least, most });

export const frontendHasSuite = ({
  minVersion: least,
  maxVersion: most,
  cipherSuites: chosen,
}: FrontendVersions & { readonly cipherSuites?: readonly string[] | undefined }): boolean =>
  !inOrder({ least, most }) || haveSuite({ least, most }, chosen);

export const frontendSuites = { path: ['cipherSuites'], error: noSuite };

export type ServerTlsSettings = z.output<typeof serverTls>;
