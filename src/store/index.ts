export { RedisStore } from './redisStore.ts';
export { StoreError, type Reply, type Script, type Store } from './store.ts';
export { script } from './script.ts';
