import type { DescribedApi } from '../../../model/index.ts';
import { memberOf, stringValue, type Envelope } from '../../json/envelope.ts';
import { isSupportedVersion, supportedVersions } from '../../messages/versions.ts';

/** The result of `initialize`, as JSON text, and the revision that it agrees to (MCP, Lifecycle, "Initialization"). */
export function initializeResult(
  { title, version, instructions }: DescribedApi,
  request: Envelope,
): { readonly text: string; readonly protocolVersion: string } {
  const place = memberOf(request.text, request.body, 'protocolVersion');
  const asked = place === 'ambiguous' ? undefined : stringValue(request.text, place);
  const protocolVersion =
    asked !== undefined && isSupportedVersion(asked) ? asked : (supportedVersions[0] as string);
  const text = JSON.stringify({
    protocolVersion,
    capabilities: { tools: { listChanged: true } },
    serverInfo: { name: title, version },
    ...(instructions === undefined ? {} : { instructions }),
  });
  return { text, protocolVersion };
}
