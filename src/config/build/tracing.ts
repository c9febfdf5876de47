import type { TracingSettings } from '../../model/index.ts';
import type { DocumentSettings } from '../schema/document.ts';

type Settings = NonNullable<NonNullable<DocumentSettings['config']>['tracing']>;

/** `config.tracing` with its defaults. */
export function buildTracing(given: Settings): TracingSettings {
  const { otlpEndpoint, otlpProtocol: protocol = 'grpc', path = '/v1/traces', headers = {}, fields } = given;
  const { add, remove } = fields ?? {};
  return {
    endpoint: protocol === 'http' ? httpEndpoint(otlpEndpoint, path) : otlpEndpoint,
    protocol,
    headers: Object.entries(headers).map(([name, text]) => ({ name: name.toLowerCase(), text })),
    randomSampling: given.randomSampling ?? false,
    clientSampling: given.clientSampling ?? true,
    ...(add && { add }),
    ...(remove && { remove }),
  };
}

/** A path in the address counts as the base of the path of exports. */
const httpEndpoint = (address: string, path: string): string => `${address.replace(/\/$/, '')}${path}`;
