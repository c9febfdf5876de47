import { GatewayError } from '../../errors.ts';
import type { PolicyTools } from '../policy.ts';
import { mayAct } from './claims.ts';
import { IssuedTokens } from './issuedTokens.ts';
import type {
  ClientCredentialsSettings,
  CrossAppAccessSettings,
  TokenExchangeSettings,
  TokenParameters,
} from './oauthSchema.ts';
import { placeOf } from './place.ts';
import { noteCredential, sendLater, type Sender } from './sender.ts';
import { TokenEndpoint } from './tokenEndpoint.ts';
import { TokenSpace } from './tokenSpace.ts';
import { textReader } from '../token/textExpression.ts';
import { tokenReader } from './tokenSource.ts';

type Parameter = readonly [string, string];

/** RFC 8693 §2.1 */
const exchangeGrant = 'urn:ietf:params:oauth:grant-type:token-exchange';
/** RFC 7523 §2.1 */
const bearerGrant = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
/** Identity Assertion Authorization Grant (draft-ietf-oauth-identity-assertion-authz-grant) */
const idJag = 'urn:ietf:params:oauth:token-type:id-jag';

const scopeOf = (scopes: readonly string[]): readonly Parameter[] =>
  scopes.length === 0 ? [] : [['scope', scopes.join(' ')]];

const parametersOf = ({ audiences, resources, scopes }: TokenParameters): readonly Parameter[] => [
  ...audiences.map((one): Parameter => ['audience', one]),
  ...resources.map((one): Parameter => ['resource', one]),
  ...scopeOf(scopes),
];

/** Exchanges the token of the user (RFC 8693), or presents it as a grant (RFC 7523). */
export function tokenExchangeSender(settings: TokenExchangeSettings, tools: PolicyTools): Sender {
  const { grantType, subject, actor, requestedTokenType } = settings;
  const endpoint = new TokenEndpoint(settings.endpoint, tools);
  const tokens = new IssuedTokens(settings.cache, tools.now, TokenSpace.of(tools));
  const put = placeOf(settings.location);
  const subjectReader = tokenReader(subject.source, 'subjectToken');
  const actorReader = actor && tokenReader(actor.source, 'actorToken');
  const params = Object.entries(settings.params).map(
    ([name, expression]) => [name, textReader(expression, `additionalParams.${name}`).read] as const,
  );
  const fixed = [
    ...parametersOf(settings),
    ...(requestedTokenType === undefined ? [] : [['requested_token_type', requestedTokenType] as const]),
  ];
  const grantOf = (subjectToken: string, actorToken: string | undefined): readonly Parameter[] =>
    grantType === 'jwtBearer'
      ? [
          ['grant_type', bearerGrant],
          ['assertion', subjectToken],
        ]
      : [
          ['grant_type', exchangeGrant],
          ['subject_token', subjectToken],
          ['subject_token_type', subject.tokenType],
          ...(actor === undefined || actorToken === undefined
            ? []
            : ([
                ['actor_token', actorToken],
                ['actor_token_type', actor.tokenType],
              ] as const)),
        ];
  return {
    waits: true,
    send(exchange) {
      const subjectToken = subjectReader.read(exchange);
      const actorToken = actorReader?.read(exchange);
      if (actor?.enforceMayAct === true && !mayAct(subjectToken, actorToken ?? ''))
        throw new GatewayError('backend_login_required', {
          detail: 'may_act of the subjectToken does not name the actor',
        });
      const further = params.map(([name, read]): Parameter => {
        const value = read(exchange);
        if (value === undefined)
          throw new GatewayError('policy_failed', { detail: `additionalParams.${name} came to no text` });
        return [name, value];
      });
      subjectReader.strip(exchange, subjectToken);
      if (actorToken !== undefined) actorReader?.strip(exchange, actorToken);
      const made = actorToken === undefined ? [subjectToken] : [subjectToken, actorToken];
      const parts = [subjectToken, actorToken ?? '', ...further.map(([, value]) => value)];
      noteCredential(exchange, 'caller', parts, settings.location);
      const token = tokens.get(parts, made, () =>
        endpoint.ask([...grantOf(subjectToken, actorToken), ...fixed, ...further]),
      );
      return sendLater(token, (one) => put(exchange, one));
    },
    texts: (exchange) => [...subjectReader.texts(exchange), ...(actorReader?.texts(exchange) ?? [])],
    problem: () => endpoint.problem,
    close() {
      endpoint.close();
      tokens.close();
    },
  };
}

/** The identity provider vouches for the user; the authorization server of the backend issues the token. */
export function crossAppAccessSender(settings: CrossAppAccessSettings, tools: PolicyTools): Sender {
  const { subject, audience, resources, scopes, accessTokenScopes } = settings;
  const provider = new TokenEndpoint(settings.identityProvider, tools);
  const server = new TokenEndpoint(settings.resourceServer, tools);
  const tokens = new IssuedTokens(settings.cache, tools.now, TokenSpace.of(tools));
  const put = placeOf(settings.location);
  const reader = tokenReader(subject.source, 'subjectToken');
  const fixed = [
    ['requested_token_type', idJag] as const,
    ...parametersOf({ audiences: [audience], resources, scopes }),
  ];
  return {
    waits: true,
    send(exchange) {
      const subjectToken = reader.read(exchange);
      reader.strip(exchange, subjectToken);
      noteCredential(exchange, 'caller', [subjectToken], settings.location);
      const token = tokens.get([subjectToken], [subjectToken], async () => {
        const grant = await provider.ask([
          ['grant_type', exchangeGrant],
          ['subject_token', subjectToken],
          ['subject_token_type', subject.tokenType],
          ...fixed,
        ]);
        return await server.ask([
          ['grant_type', bearerGrant],
          ['assertion', grant.token],
          ...scopeOf(accessTokenScopes),
        ]);
      });
      return sendLater(token, (one) => put(exchange, one));
    },
    texts: (exchange) => reader.texts(exchange),
    problem: () => provider.problem ?? server.problem,
    close() {
      provider.close();
      server.close();
      tokens.close();
    },
  };
}

/** A token of the gateway itself (RFC 6749 §4.4). */
export function clientCredentialsSender(settings: ClientCredentialsSettings, tools: PolicyTools): Sender {
  const endpoint = new TokenEndpoint(settings.endpoint, tools);
  const tokens = new IssuedTokens(settings.cache, tools.now, TokenSpace.of(tools));
  const put = placeOf(settings.location);
  const parameters = [['grant_type', 'client_credentials'] as const, ...parametersOf(settings)];
  const parts = [JSON.stringify([settings.endpoint, parameters])];
  return {
    waits: true,
    send(exchange) {
      noteCredential(exchange, 'gateway', parts, settings.location);
      const token = tokens.get([], [], () => endpoint.ask(parameters, { grantOf: 'gateway' }));
      return sendLater(token, (one) => put(exchange, one));
    },
    problem: () => endpoint.problem,
    close() {
      endpoint.close();
      tokens.close();
    },
  };
}
