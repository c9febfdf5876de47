import type { OtlpTarget } from '../../model/index.ts';
import type { HostAndPort } from '../../schema/index.ts';
import type { DocumentSettings } from '../schema/document.ts';

/** A collector in `frontendPolicies`. */
interface Collector {
  readonly host?: HostAndPort | undefined;
  readonly backend?: string | undefined;
  readonly protocol?: 'grpc' | 'http' | undefined;
  readonly path?: string | undefined;
}

/** A collector in `config`. */
interface CollectorByUrl {
  readonly otlpEndpoint?: string | undefined;
  readonly otlpProtocol?: 'grpc' | 'http' | undefined;
  readonly path?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** The collector of a field of `config`. */
export function targetOf(
  { otlpEndpoint, otlpProtocol: protocol = 'grpc', path, headers = {} }: CollectorByUrl,
  usualPath: string,
): OtlpTarget {
  if (otlpEndpoint === undefined) throw new Error('references are checked before the model is built');
  return {
    endpoint: endpointOf(otlpEndpoint, protocol, path ?? usualPath),
    protocol,
    headers: Object.entries(headers).map(([name, text]) => ({ name: name.toLowerCase(), text })),
  };
}

/** The collector of a field of `frontendPolicies`. Headers of `config` belong to the collector of `config`. */
export function collectorOf(
  { host, backend, protocol = 'grpc', path }: Collector,
  { backends = [] }: DocumentSettings,
  usualPath: string,
): OtlpTarget {
  const place = host ?? backends.find(({ name }) => name === backend)?.host;
  if (place === undefined) throw new Error('references are checked before the model is built');
  const name = place.host.includes(':') ? `[${place.host}]` : place.host;
  const url = new URL(`${place.https === true ? 'https' : 'http'}://${name}:${place.port}`);
  return { endpoint: endpointOf(url.href, protocol, path ?? usualPath), protocol, headers: [] };
}

/** A path in the address counts as the base of the path of exports, and a query stays behind the path. */
function endpointOf(address: string, protocol: 'grpc' | 'http', path: string): string {
  if (protocol === 'grpc') return address;
  // A query may hold further question marks.
  const [, base = '', query] = /^([^?]*)\??(.*)$/s.exec(address) ?? [];
  const url = `${base.replace(/\/$/, '')}${path}`;
  if (!query) return url;
  return `${url}${path.includes('?') ? '&' : '?'}${query}`;
}
