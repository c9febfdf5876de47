import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as client from 'openid-client';
import { providerMessage } from './oauthClient.ts';
import { sentTexts } from './sentTexts.ts';

test('the reason of a refusal has the words of the provider, and no token or code that it repeats', () => {
  const redirect_uri = 'https://app.test/oauth/callback';
  const form = {
    grant_type: 'authorization_code',
    client_id: 'the-client-of-the-gateway',
    redirect_uri,
    refresh_token: 'refresh-token-of-alice',
    code: 'code-of-the-callback-1',
  };
  const sent = sentTexts(
    [['authorization', 'Basic Z2F0ZXdheTpvcGVuLXNlc2FtZQ==']],
    new URLSearchParams(form),
  );
  const said = (description: string): string => {
    const cause = { error: 'server_error', error_description: description };
    const response = new Response(null, { status: 400 });
    return providerMessage(new client.ResponseBodyError('refused', { cause, response }), client, sent);
  };
  assert.equal(
    said('no answer of the database'),
    'the provider answered server_error: no answer of the database',
  );
  for (const text of [redirect_uri, form.client_id, 'authorization_code is over'])
    assert.equal(said(`bad ${text}`), `the provider answered server_error: bad ${text}`);
  for (const text of ['refresh-token-of-alice', 'code-of-the-callback-1', 'Z2F0ZXdheTpvcGVuLXNlc2FtZQ=='])
    assert.equal(said(`no answer for ${text}`), 'the provider answered server_error: no answer for [sent]');
});
