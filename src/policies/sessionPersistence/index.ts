import type { Policy } from '../policy.ts';
import { sessionPersistenceSchema, type SessionPersistenceSettings } from './facts.ts';

/** The data plane finds the address of a session, and says who it is (`proxy/routing/persistence.ts`). */
export const sessionPersistence: Policy<SessionPersistenceSettings> = {
  schema: sessionPersistenceSchema,
  prepare({ type, sessionName, absoluteTimeout, idleTimeout, cookieConfig }) {
    return {
      forwarding: {
        persistence: {
          name: sessionName,
          cookie:
            type === 'Cookie'
              ? {
                  permanent: cookieConfig?.lifetimeType === 'Permanent',
                  sameSite: cookieConfig?.sameSite ?? 'Lax',
                }
              : undefined,
          absoluteMs: absoluteTimeout,
          idleMs: idleTimeout,
        },
      },
    };
  },
};
