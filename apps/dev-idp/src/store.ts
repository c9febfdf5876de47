import type { Adapter, AdapterFactory, AdapterPayload } from 'oidc-provider';

const mostEntries = 10_000;

interface Entry {
  readonly payload: AdapterPayload;
  readonly expiresAt: number;
}

/**
 * The data of the server (codes, grants, sessions, registered clients), in memory. It outlives the provider
 * object, which is built anew when keys rotate. The oldest entries go first when there are too many.
 */
export function createStore(): AdapterFactory {
  const entries = new Map<string, Entry>();

  const find = (key: string): AdapterPayload | undefined => {
    const entry = entries.get(key);
    if (!entry) return undefined;
    if (entry.expiresAt > Date.now()) return entry.payload;
    entries.delete(key);
    return undefined;
  };

  const findBy = (model: string, field: 'uid' | 'userCode', value: string): AdapterPayload | undefined => {
    for (const [key, { payload }] of entries) {
      if (key.startsWith(`${model}:`) && payload[field] === value) return find(key);
    }
    return undefined;
  };

  const upsert = (key: string, payload: AdapterPayload, expiresIn?: number): void => {
    entries.delete(key);
    entries.set(key, { payload, expiresAt: expiresIn ? Date.now() + expiresIn * 1000 : Infinity });
    for (const oldest of entries.keys()) {
      if (entries.size <= mostEntries) break;
      entries.delete(oldest);
    }
  };

  return (model): Adapter => ({
    upsert: async (id, payload, expiresIn) => upsert(`${model}:${id}`, payload, expiresIn),
    find: async (id) => find(`${model}:${id}`),
    findByUid: async (uid) => findBy(model, 'uid', uid),
    findByUserCode: async (code) => findBy(model, 'userCode', code),
    destroy: async (id) => void entries.delete(`${model}:${id}`),
    consume: async (id) => {
      const payload = find(`${model}:${id}`);
      if (payload) payload.consumed = Math.floor(Date.now() / 1000);
    },
    revokeByGrantId: async (grantId) => {
      for (const [key, { payload }] of entries) if (payload.grantId === grantId) entries.delete(key);
    },
  });
}
