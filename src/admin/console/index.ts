export { createConsole, type Console } from './console.ts';
