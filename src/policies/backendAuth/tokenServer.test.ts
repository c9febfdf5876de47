import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayError } from '../../errors.ts';
import { toolsWith } from '../tools.testing.ts';
import { TokenServer } from './tokenServer.ts';

/** The detail of the error, for the log, where the server answers like this. */
async function detailOf(answer: object, form: Readonly<Record<string, string>>): Promise<string> {
  const hosts = {
    use: () => ({
      ask: () =>
        Promise.resolve({
          status: 400,
          headers: [],
          body: Buffer.from(JSON.stringify(answer)),
          trailers: [],
        }),
    }),
  };
  const server = new TokenServer({ host: 'idp.test', port: 443 }, { ...toolsWith([]), hosts });
  const body = Buffer.from(new URLSearchParams(form).toString());
  const headers = [['authorization', 'Basic Z2F0ZXdheTpvcGVuLXNlc2FtZQ==']] as const;
  try {
    await server.ask({ method: 'POST', target: '/token', headers, body, grantOf: 'user' });
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
