/** The folder of the volume for the audit stream, in the pods of proxies. */
export const auditFolder = '/var/log/portcullis';

/** The entries of the Secret of an audit stream. */
export const auditEntries = { token: 'token', chainKey: 'chain.key' } as const;

/** Bytes of the key of an audit chain, at least. */
export const leastAuditKeyBytes = 32;
