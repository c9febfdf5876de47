import type { ClusterForm } from '../policyFacts.ts';

/** A policy of the file has the secret of a client as a text; a GatewayPolicy names a Secret instead. */
export const clientSecretForm = (path = 'clientSecret'): ClusterForm => ({
  path,
  without: ['file'],
  from: { field: 'secret', entry: 'client-secret' },
  description: 'A Secret of the same namespace that holds the secret of clientId as client-secret.',
});

const pemOf = { 'tls.key': 'private key', 'tls.crt': 'certificate and its chain' } as const;

/** A policy of the file may name a file with a key or certificate; a GatewayPolicy names a Secret, such as one for TLS. */
export const pemForm = (path: string, entry: keyof typeof pemOf): ClusterForm => ({
  path,
  without: ['file'],
  from: { field: 'secret', entry },
  description: `A Secret of the same namespace that holds the ${pemOf[entry]} as ${entry}.`,
});

/** A policy of the file may name a file with a key set; a GatewayPolicy names a ConfigMap instead. */
export const keySetForm = (path: string): ClusterForm => ({
  path,
  without: ['file'],
  from: { field: 'configMap', entry: 'jwks.json' },
  as: 'inline',
  or: { url: undefined, inline: undefined },
  description: 'A ConfigMap of the same namespace that holds the key set as jwks.json.',
});
