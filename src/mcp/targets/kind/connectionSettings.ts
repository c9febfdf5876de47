import type { CallTimeouts, NetworkTarget } from '../../../model/index.ts';

/** The settings of connections to a server, as far as they do not depend on the kind of target. */
export type ConnectionSettings = Omit<NetworkTarget, keyof CallTimeouts | 'name' | 'path' | 'policies'>;
