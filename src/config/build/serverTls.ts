import type { HttpListener, ServerTls } from '../../model/index.ts';
import type { DocumentSettings } from '../schema/document.ts';
import { usualSuites, type ServerTlsSettings } from '../schema/serverTls.ts';

export type FrontendTls = NonNullable<DocumentSettings['frontendPolicies']>['tls'];

/** The protocol of a listener: its own settings, or those of all listeners, then the defaults. */
export function buildProtocol(
  settings: ServerTlsSettings | undefined,
  frontend: FrontendTls,
): Pick<HttpListener, 'protocol' | 'tls'> {
  return settings === undefined
    ? { protocol: 'HTTP' }
    : { protocol: 'HTTPS', tls: buildServerTls(settings, frontend) };
}

export function buildServerTls(settings: ServerTlsSettings, frontend: FrontendTls): ServerTls {
  const groups = settings.keyExchangeGroups ?? frontend?.keyExchangeGroups;
  return {
    cert: settings.cert,
    key: settings.key,
    ...(settings.root === undefined ? {} : { root: settings.root }),
    ciphers: settings.cipherSuites ?? frontend?.cipherSuites ?? usualSuites,
    minVersion: settings.minTLSVersion ?? settings.minTlsVersion ?? frontend?.minVersion ?? 'TLSv1.2',
    maxVersion: settings.maxTLSVersion ?? settings.maxTlsVersion ?? frontend?.maxVersion ?? 'TLSv1.3',
    ...(groups === undefined ? {} : { groups }),
  };
}
