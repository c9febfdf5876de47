import { GatewayError } from '../../errors.ts';
import { networkOf } from '../../http/index.ts';
import type { Exchange, Policy } from '../policy.ts';
import { WatchedText } from '../text/watchedText.ts';
import { credentialReader } from '../token/credential.ts';
import { hashKind } from './checkPassword.ts';
import { readCredentials } from './credentials.ts';
import { decoysOf } from './decoy.ts';
import { readHtpasswd } from './htpasswd.ts';
import { passwordChecker } from './passwordChecker.ts';
import { basicAuthSchema, type BasicAuthSettings } from './facts.ts';
import { Verifier } from './verifier.ts';

const basic = { kind: 'header', name: 'authorization', prefix: 'Basic ' } as const;

interface UserDatabase {
  hashOf(user: string): string | undefined;
  decoyFor(user: string): string;
}

export const basicAuth: Policy<BasicAuthSettings> = {
  schema: basicAuthSchema,
  prepare({ htpasswd, realm, mode, authorizationLocation }, { log, place }) {
    const read = (text: string): UserDatabase => {
      const users = readHtpasswd(text);
      const kinds = [...new Set(Array.from(users.values(), hashKind))];
      if (kinds.length > 1)
        log.warn(
          'basicAuth: the user database mixes hash schemes or costs, so response times differ between users; use one scheme and one cost',
          { kinds: kinds.toSorted().join('; ') },
        );
      return { hashOf: (user) => users.get(user), decoyFor: decoysOf(users) };
    };
    const users = new WatchedText(htpasswd, { name: 'basicAuth.htpasswd', read, log });
    const credential = credentialReader(authorizationLocation ?? basic);
    const verifier = new Verifier();
    const headers = [['www-authenticate', `Basic realm="${realm}", charset="UTF-8"`]] as const;
    passwordChecker.open();

    function settle(exchange: Exchange, user: string, right: boolean): undefined {
      if (!right) throw refused(exchange, 'unknown user or wrong password');
      exchange.user = user;
      return undefined;
    }
    /**
     * The answer does not tell which of the two was wrong; the name is not logged, it may be a mistyped password.
     */
    function refused(exchange: Exchange, reason: string): GatewayError {
      exchange.request.annotate('credentials', reason);
      return new GatewayError('credentials_invalid', { headers, detail: reason });
    }

    return {
      credentials: (exchange) => credential.texts(exchange),
      onRequest(exchange) {
        const known = users.value;
        const presented = credential.read(exchange);
        if (presented === undefined) {
          if (mode === 'strict')
            throw new GatewayError('credentials_missing', { headers, detail: 'basicAuth, mode strict' });
          return undefined;
        }
        credential.strip(exchange);
        const pair = readCredentials(presented);
        if (pair === undefined) throw refused(exchange, 'malformed credentials');
        // A wrong password would count as an attempt of this client.
        if (exchange.trial !== undefined) {
          exchange.trial.note('the user name and the password were not checked');
          return settle(exchange, pair.user, true);
        }
        const right = verifier.verify({
          ...pair,
          hash: known.hashOf(pair.user),
          decoy: known.decoyFor(pair.user),
          client: networkOf(exchange.request.remoteAddress),
          place,
        });
        if (typeof right === 'boolean') return settle(exchange, pair.user, right);
        return right.then((answer) => settle(exchange, pair.user, answer));
      },
      watchCaller({ user }, end) {
        if (user === undefined) return () => undefined;
        const before = users.value.hashOf(user);
        return users.watch(() => {
          if (users.value.hashOf(user) !== before) end();
        });
      },
      problem: () => users.problem,
      close() {
        users.close();
        passwordChecker.close();
      },
    };
  },
};
