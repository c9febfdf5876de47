/** `server/discover` (MCP 2026-07-28, "Discovery"), answered with what the servers said when their session began. */

import { metaKeys, modernVersion } from '../messages/eras.ts';
import type { ServerAnswer } from './heldSession.ts';

/** Features of the legacy era that modern requests cannot use. */
const legacyOnly = ['tasks'];

/** @returns the JSON text of the result */
export function discoverResult({ capabilities, serverInfo, instructions }: ServerAnswer): string {
  const known = JSON.parse(capabilities) as Record<string, unknown>;
  const modern = Object.fromEntries(Object.entries(known).filter(([name]) => !legacyOnly.includes(name)));
  const info = serverInfo ?? '{"name":"portcullis","version":"0"}';
  const said = instructions === undefined ? '' : `,"instructions":${instructions}`;
  return `{"supportedVersions":["${modernVersion}"],"capabilities":${JSON.stringify(modern)},"serverInfo":${info}${said},"_meta":{"${metaKeys.serverInfo}":${info}}}`;
}
