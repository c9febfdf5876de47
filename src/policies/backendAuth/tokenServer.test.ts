import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayError } from '../../errors.ts';
import { toolsWith } from '../tools.testing.ts';
import { TokenServer } from './tokenServer.ts';

/** The detail of the error, for the log, where the server answers like this. */
async function detailOf(
  answer: object | string,
  form: Readonly<Record<string, string>>,
  target = '/token',
): Promise<string> {
  const hosts = {
    use: () => ({
      ask: () =>
        Promise.resolve({
          status: 400,
          headers: [],
          body: Buffer.from(typeof answer === 'string' ? answer : JSON.stringify(answer)),
          trailers: [],
        }),
    }),
  };
  const server = new TokenServer({ host: 'idp.test', port: 443 }, { ...toolsWith([]), hosts });
  const body = Buffer.from(new URLSearchParams(form).toString());
  const headers = [['authorization', 'Basic Z2F0ZXdheTpvcGVuLXNlc2FtZQ==']] as const;
  try {
    await server.ask({ method: 'POST', target, headers, body, grantOf: 'user' });
  } catch (error) {
    assert.ok(error instanceof GatewayError);
    return error.detail ?? '';
  }
  return assert.fail('the server has refused');
}

test('the log has the words of an authorization server, and no token or secret that it repeats', async () => {
  const token = `e30.${'a'.repeat(400)}.signature-of-it`;
  const detail = async (description: string): Promise<string> =>
    await detailOf(
      { error: 'invalid_grant', error_description: description },
      { subject_token: token, client_secret: 'open-sesame-of-the-gateway' },
    );
  assert.match(await detail('the token has expired'), /status 400, invalid_grant: the token has expired$/);
  for (const repeated of [
    token,
    token.slice(0, 40),
    'open-sesame-of-the-gateway',
    'Z2F0ZXdheTpvcGVuLXNlc2FtZQ==',
    `"${token}"`,
  ]) {
    const shown = await detail(`refused: ${repeated}, sorry`);
    assert.match(shown, /refused: "?\[sent\]"?, sorry$/, repeated);
  }
});

test('the log has no token in any encoding or format in which the server repeats it', async () => {
  for (const secret of [
    'alice:9f8e7d6c5b4a:1122334455:aabbccddee',
    'ab|cd&"ef<gh>|ij+kl+mn',
    'a'.repeat(9_000),
  ]) {
    const form = { subject_token: secret };
    const encoded = new URLSearchParams({ a: secret }).toString().slice(2);
    const escaped = secret.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
    for (const repeated of [
      secret,
      secret.slice(4, 21),
      encoded,
      encodeURIComponent(secret),
      JSON.stringify(secret).slice(1, -1),
      Buffer.from(secret).toString('base64'),
    ]) {
      const said = { error: `bad ${repeated}`, error_description: `token ${repeated} is not known` };
      const detail = await detailOf(said, form);
      assert.match(detail, /status 400, bad \[sent\]: token \[sent\] is not known$/, repeated);
    }
    const xml = `<Error><Code>BadToken</Code><Message>token ${escaped} is not known</Message></Error>`;
    assert.match(await detailOf(xml, form), /400, BadToken: token \[sent\] is not known$/, secret);
  }
  const type = 'urn:ietf:params:oauth:token-type:id-jag';
  const refused = { error: 'invalid_request', error_description: `${type} is not supported` };
  assert.match(
    await detailOf(refused, { requested_token_type: type }),
    /: urn:ietf:.*id-jag is not supported$/,
  );
});

test('a token with a negative lifetime has ended, and one without a lifetime has no known end', () => {
  const tools = { ...toolsWith([]), now: () => 5_000, hosts: { use: () => ({ ask: () => assert.fail() }) } };
  const server = new TokenServer({ host: 'idp.test', port: 443 }, tools);
  for (const [said, expected] of [
    [{ expires_in: 60 }, 65_000],
    [{ expires_in: '60' }, 65_000],
    [{ expires_in: -30 }, 5_000],
    [{ expires_in: '-30' }, 5_000],
    [{ expires_on: -30 }, 0],
    [{ expires_in: 'soon' }, undefined],
    [{}, undefined],
  ] as const) {
    const body = Buffer.from(JSON.stringify({ access_token: 'a', ...said }));
    assert.equal(server.issued('/token', body).expiresAt, expected, JSON.stringify(said));
  }
});

test('the log has the address of a token endpoint without its query, which may hold a secret', async () => {
  for (const error of ['invalid_grant', 'server_error'])
    assert.equal(
      await detailOf({ error }, {}, '/token?api_key=open-sesame'),
      `http://idp.test:443/token: status 400, ${error}`,
    );
});
