export { RedisStore } from './redisStore.ts';
export { StoreError, type Reply, type Script, type Store } from './store.ts';
export { keyDigest, script, storeTime } from './script.ts';
