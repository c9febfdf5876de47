import type { OAuthClientProvider } from '@modelcontextprotocol/sdk/client/auth.js';
import type { OAuthClientInformationMixed, OAuthTokens } from '@modelcontextprotocol/sdk/shared/auth.js';
import { usedSecret } from '../../src/usedSecrets.testing.ts';
import { noteTokens } from './sentSecrets.testing.ts';

/** An MCP client that knows nothing but the URL, and the user who logs in where it is sent. It works with both SDKs. */
export class Person implements OAuthClientProvider {
  readonly redirectUrl: string;
  readonly clientMetadata: OAuthClientProvider['clientMetadata'];
  /** The address of its metadata document, which is its id where the authorization server reads such documents. */
  clientMetadataUrl?: string;
  /** The parameters with which the user came back. */
  returned = new URLSearchParams();
  private readonly logIn: (url: string, redirectUri: string) => Promise<URLSearchParams>;
  private client: OAuthClientInformationMixed | undefined;
  private held: OAuthTokens | undefined;
  private verifier = '';

  /**
   * @param logIn gets the address of the login page, and resolves to the parameters of the redirect to the client
   * @param more further members of the registration
   */
  constructor(
    logIn: (url: string, redirectUri: string) => Promise<URLSearchParams>,
    redirectUris: readonly string[] = ['http://127.0.0.1:33418/callback'],
    more: object = {},
  ) {
    this.logIn = logIn;
    this.redirectUrl = redirectUris[0] ?? '';
    this.clientMetadata = {
      client_name: 'e2e',
      redirect_uris: [...redirectUris],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      ...more,
    };
  }

  clientInformation = (): OAuthClientInformationMixed | undefined => this.client;
  saveClientInformation = (client: OAuthClientInformationMixed): void => {
    this.client = client;
    noteTokens(JSON.stringify(client));
  };
  tokens = (): OAuthTokens | undefined => this.held;
  saveTokens = (tokens: OAuthTokens): void => {
    this.held = tokens;
    noteTokens(JSON.stringify(tokens));
  };
  saveCodeVerifier = (text: string): void => void (this.verifier = usedSecret(text));
  codeVerifier = (): string => this.verifier;
  async redirectToAuthorization(url: URL): Promise<void> {
    this.returned = await this.logIn(url.href, this.redirectUrl);
    usedSecret(this.returned.get('code') ?? '');
  }
}
