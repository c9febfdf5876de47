import type { HttpRequest } from '../../http/index.ts';
import { modernVersion } from '../messages/eras.ts';

/**
 * Names the client of a request of the modern era, so that all its requests reach the process that holds its session and
 * its waiting calls: by its credentials, else by its address. Undefined for all other requests.
 */
export function heldCallerOf(request: Pick<HttpRequest, 'header' | 'remoteAddress'>): string | undefined {
  if (request.header('mcp-protocol-version')?.trim() !== modernVersion) return undefined;
  return request.header('authorization') ?? request.remoteAddress;
}
