import type { ListenAddress } from './model.ts';

/** Can other machines reach the address? */
export const isExposed = (address: ListenAddress): boolean =>
  address.kind === 'tcp' &&
  !address.host.startsWith('127.') &&
  address.host !== '::1' &&
  address.host !== 'localhost';
