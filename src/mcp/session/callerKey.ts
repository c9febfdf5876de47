import { createHash } from 'node:crypto';
import { GatewayError } from '../../errors.ts';
import type { McpTarget } from '../../model/index.ts';
import type { CallerWays } from '../contract.ts';

/**
 * Names a principal with its credentials for the targets. A target sees another caller in another credential, so its
 * answers to one caller say nothing of the other. Credentials that the gateway renews by itself change nothing here.
 */
export function callerKey(
  principal: string | undefined,
  targets: readonly Pick<McpTarget, 'name'>[],
  { credentialsDigest, environment }: CallerWays,
): string {
  const digest = credentialsDigest?.();
  if (digest === undefined && environment === undefined) return JSON.stringify([principal]);
  const values = environment && targets.map(({ name }) => valuesDigest(environment, name));
  const parts = [principal, digest, values];
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64');
}

export const valuesDigest = (
  environment: NonNullable<CallerWays['environment']>,
  target: string,
): string | undefined => whereGiven(() => environment(target)?.digest);

/** A target without the credential or the values of the caller fails its own calls only. */
export function whereGiven<Found>(find: () => Found): Found | undefined {
  try {
    return find();
  } catch (error) {
    if (error instanceof GatewayError) return undefined;
    throw error;
  }
}
