import { GatewayError } from '../../errors.ts';
import { rememberIssuedSecrets } from '../../telemetry/index.ts';
import { compiled } from '../attributes/compiled.ts';
import { contextFor } from '../attributes/context.ts';
import { requestAttributes } from '../attributes/declared.ts';
import { evaluate } from '../attributes/evaluate.ts';
import type { Exchange, PolicyTools } from '../policy.ts';
import type { KeySource } from './awsKeys.ts';
import { sessionNameProblem, tagValueProblem, type AssumedRole, type RequestText } from './awsSchema.ts';
import { IssuedTokens } from './issuedTokens.ts';
import type { AwsKeys } from './sigV4.ts';
import { noteCredential } from './sender.ts';
import type { SecurityTokenService } from './securityTokenService.ts';

/** Sessions of a role that are kept, one for each set of session name and tags. */
const cache = { maxEntries: 8_192, defaultTtlMs: 300_000 };

/** Gives the keys of a role that the gateway assumes, with the name and the tags of a request. */
export function roleKeys(
  { roleArn, sessionName, tags }: AssumedRole,
  source: KeySource,
  sts: SecurityTokenService,
  { now }: PolicyTools,
): (exchange: Exchange) => AwsKeys | Promise<AwsKeys> {
  const kept = new IssuedTokens<AwsKeys>(cache, now);
  const nameOf = textOf(sessionName, 'aws.assumeRole.sessionName', sessionNameProblem);
  const tagsOf = tags.map(
    ([key, value]) => [key, textOf(value, `aws.assumeRole.tags ${key}`, tagValueProblem)] as const,
  );
  return (exchange) => {
    const name = nameOf(exchange);
    const values = tagsOf.map(([key, read]) => [key, read(exchange)] as const);
    const parts = [name, ...values.flat()];
    noteCredential(exchange, 'caller', parts);
    return kept.get(parts, [], async () => {
      const issued = await sts.ask(
        [
          ['Action', 'AssumeRole'],
          ['RoleArn', roleArn],
          ['RoleSessionName', name],
          ...values.flatMap(([key, value], index) => [
            [`Tags.member.${String(index + 1)}.Key`, key] as const,
            [`Tags.member.${String(index + 1)}.Value`, value] as const,
          ]),
        ],
        await source.keys(),
      );
      const { secretAccessKey, sessionToken = '' } = issued.token;
      rememberIssuedSecrets([secretAccessKey, sessionToken]);
      return issued;
    });
  };
}

/**
 * A text of the request. Numbers and truth values, which claims often are, become texts.
 * @throws GatewayError policy_failed where the request has none that AWS accepts: its cost would go to another
 */
function textOf(
  text: RequestText,
  what: string,
  problem: (value: string) => string | undefined,
): (exchange: Exchange) => string {
  if (text.kind === 'fixed') return () => text.value;
  const program = compiled(text.expression, requestAttributes, what);
  const context = contextFor([program]);
  return (exchange) => {
    const value = evaluate(program, context(exchange), exchange, `backendAuth.${what}`);
    const found = ['string', 'number', 'bigint', 'boolean'].includes(typeof value) ? String(value) : '';
    const wrong = found === '' ? 'the expression came to no text' : problem(found);
    if (wrong !== undefined) throw new GatewayError('policy_failed', { detail: `${what}: ${wrong}` });
    return found;
  };
}
