declare module 'oidc-provider/lib/provider.js' {
  export { Provider } from 'oidc-provider';
}
declare module 'oidc-provider/lib/helpers/errors.js' {
  import { errors } from 'oidc-provider';
  export import InvalidScope = errors.InvalidScope;
  export import InvalidClientMetadata = errors.InvalidClientMetadata;
  export import InvalidRedirectUri = errors.InvalidRedirectUri;
  export import SessionNotFound = errors.SessionNotFound;
  export import OIDCProviderError = errors.OIDCProviderError;
}
declare module 'oidc-provider/lib/helpers/interaction_policy/index.js' {
  import { interactionPolicy } from 'oidc-provider';
  export import Check = interactionPolicy.Check;
  export import Prompt = interactionPolicy.Prompt;
  export import base = interactionPolicy.base;
}
