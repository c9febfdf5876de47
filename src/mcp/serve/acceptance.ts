/** The checks of a request that need no session: a request that is explained passes them, too. */

import { GatewayError } from '../../errors.ts';
import type { HttpRequest } from '../../http/index.ts';
import type { Limits, McpBackend } from '../../model/index.ts';
import { isJson, readAccept, type Accepted } from '../messages/accept.ts';
import { modernVersion } from '../messages/eras.ts';
import { isSupportedVersion, supportedVersions } from '../messages/versions.ts';
import { originAllowed } from './origin.ts';
import { sseSessionOf } from './sseRequests.ts';

const methods: ReadonlySet<string> = new Set(['POST', 'GET', 'DELETE']);

/** @throws GatewayError origin_refused, mcp_method_not_allowed */
export function checkOriginAndMethod(
  request: HttpRequest,
  { dnsRebindingProtection, stateless }: Pick<McpBackend, 'dnsRebindingProtection' | 'stateless'>,
): void {
  if (!originAllowed(request, dnsRebindingProtection))
    throw new GatewayError('origin_refused', { detail: `origin ${request.header('origin') ?? '-'}` });
  const onlyPost = stateless === true || claimedVersion(request) === modernVersion;
  if (onlyPost ? request.method !== 'POST' : !methods.has(request.method))
    throw new GatewayError('mcp_method_not_allowed', {
      headers: [['allow', onlyPost ? 'POST' : 'GET, POST, DELETE']],
    });
}

/** @throws GatewayError mcp_not_acceptable, mcp_unsupported_media */
export function checkPost(request: HttpRequest): Accepted {
  const accepted = readAccept(request.header('accept'));
  if (!accepted.json && !accepted.events && sseSessionOf(request) === undefined)
    throw new GatewayError('mcp_not_acceptable');
  if (!isJson(request.header('content-type'))) throw new GatewayError('mcp_unsupported_media');
  return accepted;
}

/** Checks a request for the event stream of a session. @throws GatewayError */
export function checkStream(request: HttpRequest): void {
  if (!readAccept(request.header('accept')).events)
    throw new GatewayError('mcp_not_acceptable', { message: 'client must accept text/event-stream' });
  checkVersion(request);
}

/** An absent version stands for 2025-03-26. @throws GatewayError mcp_version_unsupported */
export function checkVersion(request: HttpRequest): void {
  const requested = request.header('mcp-protocol-version');
  if (requested !== undefined && !isSupportedVersion(requested))
    throw unsupportedVersion(supportedVersions, requested);
}

export const unsupportedVersion = (supported: readonly string[], requested: string): GatewayError =>
  new GatewayError('mcp_version_unsupported', { jsonBody: { supported, requested: requested.slice(0, 64) } });

/** The value of `MCP-Protocol-Version`. */
export const claimedVersion = (request: Pick<HttpRequest, 'header'>): string | undefined =>
  request.header('mcp-protocol-version')?.trim();

/** A body over the limit is an error of the message, with its size (where the client said it) and the limit. */
export function asMessageError(error: unknown, request: HttpRequest, limits: Limits): unknown {
  if (!(error instanceof GatewayError) || error.code !== 'body_too_large') return error;
  const { maxBodyBytes, maxMcpRequestBytes } = limits;
  const ofBodies = maxBodyBytes !== 0 && maxBodyBytes < maxMcpRequestBytes;
  const most = ofBodies ? maxBodyBytes : maxMcpRequestBytes;
  const announced = request.header('content-length');
  const size = announced ?? `more than ${String(most)}`;
  return new GatewayError('mcp_request_too_large', {
    message: `message too large: ${size} bytes, of which the gateway takes ${String(most)}`,
    detail: ofBodies
      ? 'limits.maxBodyBytes'
      : 'limits.maxMcpMessageBytes, or frontendPolicies.http.maxBufferSize where that is set',
  });
}
