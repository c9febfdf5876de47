export type * from './contract.ts';
export { algorithmNames, isAlgorithm } from './algorithms.ts';
export { bodyWithin } from './bodyWithin.ts';
export {
  assertedClient,
  assertionType,
  verifyAssertion,
  type AssertingClient,
  type ValidAssertion,
} from './clientAssertion.ts';
export type { UnreadableToken } from './compactToken.ts';
export { boundedFetch } from './boundedFetch.ts';
export { bearerChallenge, type Challenge } from './challenge.ts';
export { getJson } from './getJson.ts';
export { guardedFetch } from './guardedFetch.ts';
export { createIssuerMetadata, type IssuerMetadata, type IssuerMetadataOptions } from './issuerMetadata.ts';
export { metadataAt, metadataUrls } from './issuerMetadata.ts';
export { clientAuthentication, providerMessage } from './oauthClient.ts';
export { hideSent, sentTexts } from './sentTexts.ts';
export { readClientKeys, type KeyList } from './keyList.ts';
export { createKeySets, type KeySetsOptions } from './keySets.ts';
export { resourceMetadata, type ResourceMetadata } from './resourceMetadata.ts';
export type { TokenReason } from './tokenReason.ts';
export {
  createVerifier,
  type TrustedIssuer,
  type Verdict,
  type VerifiedToken,
  type Verifier,
} from './verifier.ts';
export { TextSeal } from './textSeal.ts';
export { TokenCache } from './tokenCache.ts';
