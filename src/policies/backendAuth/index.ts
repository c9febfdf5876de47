import type { Exchange, Policy, PolicyTools } from '../policy.ts';
import { rememberSecrets } from '../../telemetry/index.ts';
import { WatchedText } from '../text/watchedText.ts';
import { placeOf } from './place.ts';
import { backendAuthSchema, readSecret, type BackendAuthSettings, type BackendCredential } from './facts.ts';

export const backendAuth: Policy<BackendAuthSettings> = {
  schema: backendAuthSchema,
  prepare({ credentials }, tools) {
    const senders = credentials.map((credential) => senderOf(credential, tools));
    return {
      onRequest(exchange) {
        for (const { send } of senders) send(exchange);
        return undefined;
      },
      problem: () => senders.map(({ problem }) => problem()).find((problem) => problem !== undefined),
      close() {
        for (const { close } of senders) close();
      },
    };
  },
};

interface Sender {
  readonly send: (exchange: Exchange) => void;
  readonly problem: () => string | undefined;
  readonly close: () => void;
}

/** The log replaces the secret from now on, wherever it came from. */
function knownSecret(text: string): string {
  const secret = readSecret(text);
  rememberSecrets([secret]);
  return secret;
}

function senderOf(credential: BackendCredential, { log }: PolicyTools): Sender {
  const place = placeOf(credential.location);
  if (credential.kind === 'passthrough')
    return {
      send: (exchange) => place(exchange, exchange.token),
      problem: () => undefined,
      close: () => undefined,
    };
  const text = new WatchedText(credential.secret, { name: 'backendAuth.key', read: knownSecret, log });
  return {
    send: (exchange) => place(exchange, text.value),
    problem: () => text.problem,
    close: () => text.close(),
  };
}
