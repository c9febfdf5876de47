import type { HeaderLine } from '../../http/index.ts';
import { asGatewayError, GatewayError, NotEvaluated } from '../../errors.ts';
import type { Exchange, Policy, PolicyTools } from '../policy.ts';
import { loginError } from '../token/loginChallenge.ts';
import { rememberSecrets } from '../../telemetry/index.ts';
import { WatchedText } from '../text/watchedText.ts';
import { placeOf, withdrawCredentials } from './place.ts';
import { backendAuthSchema, type BackendAuthSettings, type BackendCredential } from './facts.ts';
import { awsSender } from './aws.ts';
import { azureSender } from './azure.ts';
import { gcpSender } from './gcp.ts';
import { jwtSignSender } from './jwtSign.ts';
import { readSecret } from './secretText.ts';
import { noteCredential, type Sender } from './sender.ts';
import { clientCredentialsSender, crossAppAccessSender, tokenExchangeSender } from './tokenExchange.ts';

export const backendAuth: Policy<BackendAuthSettings> = {
  schema: backendAuthSchema,
  prepare({ credentials }, tools) {
    const senders = credentials.map((credential) => senderOf(credential, tools));
    const waits = senders.some((sender) => sender.waits === true);
    return {
      onRequest(exchange) {
        if (exchange.request.method === 'TRACE')
          throw new GatewayError('trace_refused', { headers: otherMethods });
        if (waits && exchange.trial !== undefined) throw new NotEvaluated('it asks for a credential');
        // The policy closest to the backend decides.
        withdrawCredentials(exchange);
        let asked: Promise<void>[] | undefined;
        try {
          for (const { send } of senders) {
            const sent = send(exchange);
            if (sent !== undefined) (asked ??= []).push(sent);
          }
        } catch (error) {
          if (asked === undefined) throw challenged(exchange, error);
          // A credential is under way: the failures of both need a reader.
          asked.push(Promise.reject(asGatewayError(error)));
        }
        return (
          asked &&
          Promise.all(asked).then(none, (error: unknown) => {
            throw challenged(exchange, error);
          })
        );
      },
      credentials: (exchange) => senders.flatMap(({ texts }) => texts?.(exchange) ?? []),
      sendsCredentials: true,
      ...(waits ? { waits: true as const } : {}),
      problem: () => senders.map(({ problem }) => problem()).find((problem) => problem !== undefined),
      close() {
        for (const { close } of senders) close();
      },
    };
  },
};

/** RFC 9110 §15.5.6 demands the field. */
const otherMethods: readonly HeaderLine[] = [['allow', 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS']];

const none = (): undefined => undefined;

/** Only here is the request known: a refusal is kept for all requests with the same token. */
function challenged(exchange: Exchange, error: unknown): unknown {
  if (!(error instanceof GatewayError) || error.code !== 'backend_login_required') return error;
  const { detail, cause } = error;
  return loginError(exchange, 'backend_login_required', 'not_exchangeable', {
    cause,
    detail,
  });
}

/** The log replaces the secret from now on, wherever it came from. */
function knownSecret(text: string): string {
  const secret = readSecret(text);
  rememberSecrets([secret]);
  return secret;
}

/** Kind of credential → what sends it. */
const kinds: { readonly [Kind in BackendCredential['kind']]: SenderOf<Kind> } = {
  key: keySender,
  passthrough: passthroughSender,
  jwtSign: jwtSignSender,
  oauthTokenExchange: tokenExchangeSender,
  crossAppAccess: crossAppAccessSender,
  clientCredentials: clientCredentialsSender,
  gcp: gcpSender,
  aws: awsSender,
  azure: azureSender,
};

type Of<Kind> = Extract<BackendCredential, { readonly kind: Kind }>;
type SenderOf<Kind> = (credential: Of<Kind>, tools: PolicyTools) => Sender;

const senderOf = <Kind extends BackendCredential['kind']>(
  credential: BackendCredential & { readonly kind: Kind },
  tools: PolicyTools,
): Sender => (kinds[credential.kind] as SenderOf<Kind>)(credential as Of<Kind>, tools);

function passthroughSender({ location }: Of<'passthrough'>): Sender {
  const place = placeOf(location);
  return {
    send(exchange) {
      const { token } = exchange;
      noteCredential(exchange, 'caller', token === undefined ? [] : [token], location);
      place(exchange, token);
    },
    problem: () => undefined,
    close: () => undefined,
  };
}

function keySender({ secret, location }: Of<'key'>, { log }: PolicyTools): Sender {
  const place = placeOf(location);
  const text = new WatchedText(secret, { name: 'backendAuth.key', read: knownSecret, log });
  return {
    send(exchange) {
      noteCredential(exchange, 'gateway', [text.value], location);
      place(exchange, text.value);
    },
    problem: () => text.problem,
    close: () => text.close(),
  };
}
