/** Is this suite, by its name in OpenSSL, one of TLS 1.3? Those of TLS 1.2 have names such as `ECDHE-RSA-AES128-GCM-SHA256`. */
export const isOfTls13 = (suite: string): boolean => suite.startsWith('TLS_');
