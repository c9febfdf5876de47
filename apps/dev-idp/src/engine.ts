/*
 * The parts of oidc-provider in use, past its front door: that one prints "Unsupported runtime" on every Node
 * release line that is not (or not yet) a long-term one, and this server runs on the Node of the gateway.
 */
export { Provider } from 'oidc-provider/lib/provider.js';
export * as errors from 'oidc-provider/lib/helpers/errors.js';
export * as interactionPolicy from 'oidc-provider/lib/helpers/interaction_policy/index.js';
