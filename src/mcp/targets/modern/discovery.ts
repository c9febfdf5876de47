/** `server/discover`, whose result takes the place of the answer to `initialize`. */

import { GatewayError } from '../../../errors.ts';
import { cut, memberOf, stringValue, type Envelope, type Span } from '../../json/envelope.ts';
import { ownMessage, ownResult } from '../../json/ownMessage.ts';
import { isRecord, parsed } from '../../json/parsed.ts';
import { modernVersion, metaKeys } from '../../messages/eras.ts';
import { supportedVersions } from '../../messages/versions.ts';
import { metaOf, withoutTasks, type ClientFacts } from './clientFacts.ts';

/** Characters of each member that is read. */
const maxLength = 262_144;

/** The answer to `server/discover` is no answer of a server that speaks revision 2026-07-28. */
export class NotModernError extends GatewayError {
  constructor(target: string) {
    const what = `answered server/discover without revision ${modernVersion}`;
    super('mcp_target_failed', { message: `target "${target}" ${what}` });
  }
}

/** The notifications that a server offers, by the members of the filter of `subscriptions/listen`. */
export const listFilters = {
  tools: 'toolsListChanged',
  prompts: 'promptsListChanged',
  resources: 'resourcesListChanged',
} as const;

/** The facts of a server, as it tells them. */
export interface Discovery {
  /** JSON text of an object. */
  readonly capabilities: string;
  readonly hasLogging: boolean;
  readonly hasSubscriptions: boolean;
  /** Members of the filter for the lists that may change. */
  readonly listChanges: readonly string[];
  readonly serverInfo: string | undefined;
  readonly instructions: string | undefined;
  readonly meta: string | undefined;
}

/** The first request to a server of the modern era. */
export const discoverRequest = (client: ClientFacts): Envelope =>
  ownMessage('server/discover', `{"_meta":{${metaOf(client)}}}`);

/** Reads the answer; undefined where the server does not speak the revision of the gateway. */
export function readDiscovery(response: Envelope): Discovery | undefined {
  const { text, body } = response;
  const at = (name: string, within = body): Span | undefined => {
    const found = memberOf(text, within, name);
    return typeof found === 'object' && found.end - found.start <= maxLength ? found : undefined;
  };
  const versions = at('supportedVersions');
  const capabilities = at('capabilities');
  const type = at('resultType');
  if (type !== undefined && stringValue(text, type) !== 'complete') return undefined;
  if (versions === undefined || capabilities === undefined) return undefined;
  const supported = parsed(text.slice(versions.start, versions.end));
  if (!Array.isArray(supported) || !supported.includes(modernVersion)) return undefined;
  const json = (span: Span | undefined, first: string): string | undefined =>
    span !== undefined && text[span.start] === first ? cut(text, span) : undefined;
  const meta = at('_meta');
  const offered = cut(text, capabilities);
  const features = parsed(offered);
  if (!isRecord(features)) return undefined;
  const says = (feature: string, member: string): boolean => {
    const found = features[feature];
    return isRecord(found) && found[member] === true;
  };
  return {
    capabilities: offered,
    hasLogging: features['logging'] !== undefined,
    hasSubscriptions: says('resources', 'subscribe'),
    listChanges: Object.entries(listFilters).flatMap(([name, filter]) =>
      says(name, 'listChanged') ? [filter] : [],
    ),
    // Drafts of the revision had it beside the capabilities.
    serverInfo: json(meta && at(metaKeys.serverInfo, meta), '{') ?? json(at('serverInfo'), '{'),
    instructions: json(at('instructions'), '"'),
    meta: json(meta, '{'),
  };
}

/**
 * The answer of the server in the form of an answer to `initialize`.
 * @param bridged the client is of the legacy era
 */
export function initializeResponse(
  { capabilities, serverInfo, instructions, meta }: Discovery,
  initialize: Envelope,
  target: string,
  bridged: boolean,
): Envelope {
  const asked = memberOf(initialize.text, initialize.body, 'protocolVersion');
  const version = asked === 'ambiguous' ? undefined : stringValue(initialize.text, asked);
  const members = [
    `"protocolVersion":${JSON.stringify(version ?? supportedVersions[0])}`,
    `"capabilities":${withoutTasks(capabilities, bridged)}`,
    `"serverInfo":${serverInfo ?? JSON.stringify({ name: target, version: '0' })}`,
    ...(instructions === undefined ? [] : [`"instructions":${instructions}`]),
    ...(meta === undefined ? [] : [`"_meta":${meta}`]),
  ];
  return ownResult(`{${members.join(',')}}`);
}
