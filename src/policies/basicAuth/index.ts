import { GatewayError } from '../../errors.ts';
import type { Exchange, Policy } from '../policy.ts';
import { WatchedText } from '../text/watchedText.ts';
import { credentialReader } from '../token/credential.ts';
import { readCredentials } from './credentials.ts';
import { readHtpasswd } from './htpasswd.ts';
import { passwordChecker } from './passwordChecker.ts';
import { basicAuthSchema, type BasicAuthSettings } from './schema.ts';
import { Verifier } from './verifier.ts';

const basic = { kind: 'header', name: 'authorization', prefix: 'Basic ' } as const;

export const basicAuth: Policy<BasicAuthSettings> = {
  name: 'basicAuth',
  schema: basicAuthSchema,
  prepare({ htpasswd, realm, mode, authorizationLocation }, { log }) {
    const users = new WatchedText(htpasswd, { name: 'basicAuth.htpasswd', read: readHtpasswd, log });
    const credential = credentialReader(authorizationLocation ?? basic);
    const verifier = new Verifier();
    const headers = [['www-authenticate', `Basic realm="${realm}", charset="UTF-8"`]] as const;
    passwordChecker.open();

    function settle(x: Exchange, user: string, right: boolean): undefined {
      if (!right) throw refused(x, 'unknown user or wrong password');
      x.user = user;
      return undefined;
    }
    /** Which of the two was wrong is told to nobody; the name is not logged, it may be a mistyped password. */
    function refused(x: Exchange, reason: string): GatewayError {
      x.request.annotate('credentials', reason);
      return new GatewayError('credentials_invalid', { headers, detail: reason });
    }

    return {
      onRequest(x) {
        const known = users.value;
        const presented = credential.read(x);
        if (presented === undefined) {
          if (mode === 'strict') throw new GatewayError('credentials_missing', { headers });
          return undefined;
        }
        credential.strip(x);
        const pair = readCredentials(presented);
        if (pair === undefined) throw refused(x, 'malformed credentials');
        const [decoy = ''] = known.values();
        const right = verifier.verify(pair.user, pair.password, known.get(pair.user), decoy);
        if (typeof right === 'boolean') return settle(x, pair.user, right);
        return right.then((answer) => settle(x, pair.user, answer));
      },
      close() {
        users.close();
        passwordChecker.close();
      },
    };
  },
};
