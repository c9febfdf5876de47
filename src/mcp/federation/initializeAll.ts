/** The first request of a session with several targets: all of them start side by side. */

import { asGatewayError, GatewayError } from '../../errors.ts';
import { memberOf, readEnvelope, stringValue, type Envelope } from '../json/envelope.ts';
import { supportedVersions } from '../messages/versions.ts';
import type { CallStats } from '../session/mcpMetrics.ts';
import type { TargetConnection, Waiter } from '../targets/kind/target.ts';
import { initializeResult } from './capabilities.ts';
import type { Federation } from './federation.ts';
import { fromAll } from './fromAll.ts';
import type { Member } from './member.ts';

/**
 * Starts the targets and answers for all of them (MCP 2025-11-25, "Initialization"). Each side of the gateway agrees on
 * a revision of its own: the client gets the one it asked for, as `negotiable` has checked.
 * @param version of the program
 * @param cell the counts of the request at each target; absent: the client has not sent it
 * @param waiter gets the answer, or the error of a target that fails under `failClosed`, or of the first one where all fail
 */
export function initializeAll(
  federation: Federation,
  initialize: Envelope,
  version: string,
  waiter: Waiter,
  cell?: (target: string) => CallStats,
): void {
  federation.begin(initialize);
  composed(federation, initialize, version, cell).then(
    (response) => {
      federation.answered();
      waiter.answered(response);
    },
    (error: unknown) => waiter.failed(asGatewayError(error)),
  );
}

async function composed(
  federation: Federation,
  initialize: Envelope,
  version: string,
  cell: ((target: string) => CallStats) | undefined,
): Promise<Envelope> {
  await fromAll(
    federation,
    (member) => (cell === undefined ? member.connected() : counted(member, cell(member.name))),
    () => undefined,
  );
  const place = memberOf(initialize.text, initialize.body, 'protocolVersion');
  const asked = place === 'ambiguous' ? undefined : stringValue(initialize.text, place);
  const result = initializeResult(
    asked ?? supportedVersions[0]!,
    { name: federation.settings.name, version },
    federation.all.map(({ name, facts }) => ({ name, facts })),
  );
  // The call puts the client's id in.
  const response = readEnvelope(`{"jsonrpc":"2.0","id":0,"result":${JSON.stringify(result)}}`);
  if (typeof response === 'string') throw new GatewayError('internal_error', { detail: response });
  return response;
}

/** Counts the start of a target as its answer to `initialize`. */
async function counted(member: Member, stats: CallStats): Promise<TargetConnection> {
  const since = performance.now();
  try {
    const connection = await member.connected();
    stats.ended('ok', performance.now() - since);
    return connection;
  } catch (error) {
    stats.ended('failed', performance.now() - since);
    throw error;
  }
}
