import { GatewayError, NotEvaluated, type DecidedBy } from '../../errors.ts';
import type { HeaderLine } from '../../http/index.ts';
import { GrpcServer, mostDecisionBytes, reasonOf } from '../grpcServer.ts';
import type { Exchange, Policy } from '../policy.ts';
import { serverReports } from '../serverReports.ts';
import { descriptorsOf } from './descriptors.ts';
import { remoteRateLimitSchema, type RemoteRateLimitSettings } from './facts.ts';
import { contentTypeOf, putHeaders } from './headers.ts';
import {
  callPath,
  decodeAnswer,
  encodeRequest,
  type Descriptor,
  type LimitStatus,
  type RateLimitAnswer,
} from './wire.ts';

/** Asks a rate limit service of Envoy whether a request may pass (`remoteRateLimit` of the format). */
export const remoteRateLimit: Policy<RemoteRateLimitSettings> = {
  schema: remoteRateLimitSchema,
  prepare(settings, tools) {
    const { domain, timeoutMs, failureMode } = settings;
    const server = new GrpcServer(settings, timeoutMs, tools, mostDecisionBytes);
    const descriptors = descriptorsOf(settings.descriptors);
    const tell = serverReports(server.name, tools);
    const isOpen = failureMode === 'failOpen';

    async function ask(exchange: Exchange, asked: readonly Descriptor[]): Promise<undefined> {
      let answer: RateLimitAnswer;
      try {
        const given = await server.ask(callPath, encodeRequest(domain, asked), exchange);
        answer = decodeAnswer(given.message);
      } catch (error) {
        const reason = reasonOf(error);
        tell(`Rate limit service failed: request ${isOpen ? 'passed' : 'refused'}`, { reason });
        if (isOpen) return undefined;
        throw new GatewayError('rate_limit_service_failed', { detail: reason });
      }
      const left = putAll(exchange, answer);
      if (left.length > 0) tell('Rate limit service set headers that it must not set', { headers: left });
      if (answer.isOverLimit) throw refusal(answer, asked, domain);
      return undefined;
    }

    return {
      waits: true,
      onRequest(exchange) {
        const asked = descriptors(exchange);
        if (asked.length === 0) return undefined;
        if (exchange.trial !== undefined)
          throw new NotEvaluated(`it asks the rate limit service ${server.name}`);
        return ask(exchange, asked);
      },
    };
  },
};

/**
 * Allowed or not, the client learns where it stands. The headers of the service count before those of its numbers.
 * @returns names of headers that were left out
 */
function putAll(exchange: Exchange, answer: RateLimitAnswer): readonly string[] {
  const { requestHeaders, responseHeaders } = exchange;
  const status = tightest(answer.statuses);
  if (status?.requestsPerUnit !== undefined) {
    responseHeaders.set('x-ratelimit-limit', String(status.requestsPerUnit));
    responseHeaders.set('x-ratelimit-remaining', String(status.left));
    responseHeaders.set('x-ratelimit-reset', String(secondsOf(status)));
  }
  const lines = answer.responseHeaders.filter(([name]) => !(answer.isOverLimit && name === 'content-type'));
  const left = putHeaders(responseHeaders, lines);
  // No backend gets a request that is refused.
  return answer.isOverLimit ? left : [...left, ...putHeaders(requestHeaders, answer.requestHeaders)];
}

/** The status with a limit that has least left; one that is over its limit comes first. */
const tightest = (statuses: readonly LimitStatus[]): LimitStatus | undefined =>
  statuses
    .filter(({ requestsPerUnit }) => requestsPerUnit !== undefined)
    .toSorted((a, b) => Number(b.isOverLimit) - Number(a.isOverLimit) || a.left - b.left)[0];

const secondsOf = ({ resetSeconds }: LimitStatus): number => Math.max(1, resetSeconds);

/** The answer has the body of the service, unless that is too long. */
function refusal(
  { statuses, responseHeaders, body }: RateLimitAnswer,
  asked: readonly Descriptor[],
  domain: string,
): GatewayError {
  const by = ruleOf(statuses, asked) ?? { rule: `domain ${domain}` };
  const status = tightest(statuses);
  const headers: HeaderLine[] =
    status === undefined || responseHeaders.some(([name]) => name === 'retry-after')
      ? []
      : [['retry-after', String(secondsOf(status))]];
  return new GatewayError('rate_limited', {
    headers,
    by,
    detail: `limit: ${by.rule}`,
    ...(body.length > 0 &&
      body.length <= mostBodyBytes && {
        body: { type: contentTypeOf(responseHeaders), bytes: Buffer.from(body) },
      }),
  });
}

/** A longer body of a service is not sent. */
const mostBodyBytes = 65_536;

/** The first descriptor that is over its limit, by its keys: values are of the caller. */
function ruleOf(
  statuses: readonly LimitStatus[],
  asked: readonly Descriptor[],
): Required<Pick<DecidedBy, 'rule' | 'place'>> | undefined {
  const descriptor = asked[statuses.findIndex(({ isOverLimit }) => isOverLimit)];
  if (descriptor === undefined) return undefined;
  const { entries, index } = descriptor;
  return { rule: entries.map(([key]) => key).join(', '), place: `.descriptors[${String(index)}]` };
}
