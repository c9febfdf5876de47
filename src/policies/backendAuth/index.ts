import type { Exchange, Policy, PolicyTools } from '../policy.ts';
import { WatchedText } from '../text/watchedText.ts';
import { placeOf } from './place.ts';
import { backendAuthSchema, readSecret, type BackendAuthSettings, type BackendCredential } from './schema.ts';

export const backendAuth: Policy<BackendAuthSettings> = {
  name: 'backendAuth',
  schema: backendAuthSchema,
  prepare({ credentials }, tools) {
    const senders = credentials.map((credential) => senderOf(credential, tools));
    return {
      onRequest(x) {
        for (const { send } of senders) send(x);
        return undefined;
      },
      close() {
        for (const { close } of senders) close();
      },
    };
  },
};

interface Sender {
  readonly send: (x: Exchange) => void;
  readonly close: () => void;
}

function senderOf(credential: BackendCredential, { log }: PolicyTools): Sender {
  const place = placeOf(credential.location);
  if (credential.kind === 'passthrough') return { send: (x) => place(x, x.token), close: () => undefined };
  const text = new WatchedText(credential.secret, { name: 'backendAuth.key', read: readSecret, log });
  return { send: (x) => place(x, text.value), close: () => text.close() };
}
