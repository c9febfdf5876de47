export type * from './contract.ts';
export { ConsoleDoor } from './door/consoleDoor.ts';
export { redactDump } from './redactDump.ts';
export { startAdmin, type Admin, type AdminOptions } from './start.ts';
export { findOperatorSecret, readSecret, type TcpAddress } from './operatorSecret.ts';
