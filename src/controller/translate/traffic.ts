import { parseDuration, type Place, type PolicyUse } from '../../model/index.ts';
import { policyNames } from '../../policies/facts.ts';
import type { HttpRouteRule } from '../types/index.ts';
import { problem, type Problem } from './conditions.ts';
import { checked } from './settings.ts';

/** A length of time of the Gateway API (GEP-2257), in milliseconds. */
const durationPattern = /^(?:[0-9]{1,5}(?:h|m|s|ms)){1,4}$/;
const milliseconds = (text: string): number | undefined =>
  durationPattern.test(text) ? parseDuration(text) : undefined;

/** Further tries that are allowed a second: who wants fewer says so by `attempts`. */
const RETRIES_A_SECOND = 10_000;
const RETRIES_BY_DEFAULT = 1;
const RETRIES_MOST = 9;
const BACKOFF_MOST_MS = 30_000;

/** The fields that say it; those of gRPC are some of them. */
type Traffic = Pick<HttpRouteRule, 'timeouts' | 'retry' | 'sessionPersistence'>;

/** The policies of the fields of a rule that say how its traffic is handled. */
export function trafficPolicies(rule: Traffic, place: Place): readonly PolicyUse[] | Problem {
  const policies: PolicyUse[] = [];
  for (const read of [timeouts, retry, persistence]) {
    const made = read(rule);
    if (made === undefined) continue;
    if ('reason' in made) return made;
    policies.push({ ...made, place });
  }
  return policies;
}

type Made = Pick<PolicyUse, 'name' | 'settings'> | Problem | undefined;

/** Zero switches a limit off, an inherited one included: a policy without limits replaces it. */
function timeouts({ timeouts: given = {} }: Traffic): Made {
  if (given.request === undefined && given.backendRequest === undefined) return undefined;
  const settings: Record<string, number> = {};
  for (const [name, text] of [
    ['requestTimeout', given.request],
    ['backendRequestTimeout', given.backendRequest],
  ] as const) {
    if (text === undefined) continue;
    const ms = milliseconds(text);
    if (ms === undefined) return problem('UnsupportedValue', `timeouts: ${text} is no length of time`);
    if (ms > 0) settings[name] = ms;
  }
  return { name: policyNames.timeout, settings };
}

function retry({ retry: given }: Traffic): Made {
  if (given === undefined) return undefined;
  const { codes = [], attempts = RETRIES_BY_DEFAULT, backoff = '0s' } = given;
  const backoffMs = milliseconds(backoff);
  if (backoffMs === undefined || backoffMs > BACKOFF_MOST_MS)
    return problem('UnsupportedValue', `retry.backoff: ${backoff} is no length of time up to 30s`);
  if (attempts < 0 || attempts > RETRIES_MOST)
    return problem('UnsupportedValue', `retry.attempts: at most ${RETRIES_MOST}, found ${attempts}`);
  // The schema wants a code; here failed connections alone may be a reason (HTTPRouteRetry).
  const made = checked(policyNames.retry, {
    // The first try counts there.
    attempts: attempts + 1,
    codes: codes.length === 0 ? [503] : codes,
    ...(backoffMs === 0 ? {} : { backoff }),
    budget: { percent: 100, minRetryRate: RETRIES_A_SECOND },
  });
  if ('reason' in made || codes.length > 0) return made;
  return { ...made, settings: { ...(made.settings as object), codes: [] } };
}

function persistence({ sessionPersistence: given }: Traffic): Made {
  return given === undefined ? undefined : checked(policyNames.sessionPersistence, given);
}
