export { GuidedLogins } from './guidedLogins.ts';
